#include "tests/models/configs.hpp"
#include "tests/models/published.hpp"

#include <gtest/gtest.h>

namespace spillway::models {
namespace {

class HubModel : public testing::TestWithParam<Published> {};

// Source: the totals that the Hugging Face Hub shows of the weights' files, a tied head once, or
// for Pythia the table of its model card, for Falcon-H1-0.5B a count of its loaded weights, for
// LFM2-350M, LFM2-2.6B and Falcon-H1-Tiny the number that others quote of the Hub. Without the
// layers for multi-token prediction, routers' correction biases (buffers that no gradient changes)
// and towers.
TEST_P(HubModel, HasExactlyThePublishedParameters) {
  EXPECT_EQ(from_library(GetParam().name).parameters.value(), GetParam().parameters);
}

INSTANTIATE_TEST_SUITE_P(
    Counts, HubModel,
    testing::Values(
        Published{"aya-23-8b", 8'028'033'024}, Published{"baichuan2-13b", 13'896'668'160},
        Published{"baichuan2-7b", 7'505'973'248}, Published{"bloom-176b", 176'247'271'424},
        Published{"bloom-1b7", 1'722'408'960}, Published{"bloom-3b", 3'002'557'440},
        Published{"bloom-560m", 559'214'592}, Published{"bloom-7b1", 7'069'016'064},
        Published{"chatglm2-6b", 6'243'584'000}, Published{"command-r-35b", 34'980'831'232},
        Published{"command-r7b", 8'028'033'024}, Published{"dbrx-132b", 131'596'523'520},
        Published{"deepseek-v2", 235'741'434'880}, Published{"deepseek-v2-lite", 15'706'484'224},
        Published{"deepseek-v3", 671'026'404'352}, Published{"exaone-3.5-2.4b", 2'405'327'360},
        Published{"exaone-3.5-32b", 32'003'200'000}, Published{"exaone-3.5-7.8b", 7'818'448'896},
        Published{"falcon-40b", 41'303'293'952}, Published{"falcon-7b", 6'921'720'704},
        Published{"gemma-2-27b", 27'227'128'320}, Published{"gemma-2-2b", 2'614'341'888},
        Published{"gemma-2-9b", 9'241'705'984}, Published{"gemma-2b", 2'506'172'416},
        Published{"gemma-3-12b", 11'766'034'176}, Published{"gemma-3-1b", 999'885'952},
        Published{"gemma-3-270m", 268'098'176}, Published{"gemma-3-27b", 27'009'346'304},
        Published{"gemma-3-4b", 3'880'263'168}, Published{"gemma-7b", 8'537'680'896},
        Published{"glm-4-9b", 9'399'951'360}, Published{"glm-4-9b-0414", 9'400'279'040},
        Published{"gpt-j-6b", 6'050'882'784}, Published{"gpt-neo-1.3b", 1'315'575'808},
        Published{"gpt-neo-125m", 125'198'592}, Published{"gpt-neo-2.7b", 2'651'307'520},
        Published{"gpt-neox-20b", 20'554'567'680}, Published{"gpt-oss-120b", 116'829'156'672},
        Published{"gpt-oss-20b", 20'914'757'184}, Published{"internlm2.5-20b", 19'861'149'696},
        Published{"internlm2.5-7b", 7'737'708'544}, Published{"kimi-k2", 1'026'408'209'408},
        Published{"granite-4.0-micro", 3'402'836'480}, Published{"lfm2-1.2b", 1'170'340'608},
        Published{"lfm2-350m", 354'483'968}, Published{"lfm2-8b-a1b", 8'339'929'856},
        Published{"lfm2-2.6b", 2'569'272'320}, Published{"falcon-h1-0.5b", 521'411'104},
        Published{"falcon-h1-tiny-90m", 91'131'072},
        // the Hub: 49,122,681,728, with correction biases of 26 routers
        Published{"kimi-linear-48b-a3b", 49'122'681'728 - 26 * 256},
        Published{"llama-2-13b", 13'015'864'320}, Published{"llama-2-70b", 68'976'648'192},
        Published{"llama-2-7b", 6'738'415'616}, Published{"llama-3.1-405b", 405'853'388'800},
        Published{"llama-3.1-70b", 70'553'706'496},
        Published{"llama-4-maverick-17b-128e", 400'711'848'960},
        Published{"llama-4-scout-17b-16e", 107'769'861'120}, Published{"minicpm-2b", 2'724'880'896},
        Published{"ministral-8b", 8'019'808'256}, Published{"mistral-nemo-12b", 12'247'782'400},
        Published{"mistral-small-24b", 23'572'403'200}, Published{"mixtral-8x22b", 140'620'634'112},
        Published{"mpt-7b", 6'649'286'656}, Published{"olmo-2-0325-32b", 32'234'279'936},
        Published{"olmo-2-0425-1b", 1'484'916'736}, Published{"olmo-2-1124-13b", 13'716'198'400},
        Published{"olmo-2-1124-7b", 7'298'617'344}, Published{"olmoe-1b-7b", 6'919'161'856},
        Published{"phi-1.5", 1'418'270'720}, Published{"phi-2", 2'779'683'840},
        Published{"phi-3.5-mini", 3'821'079'552}, Published{"phi-3.5-moe", 41'873'153'344},
        Published{"phi-4", 14'659'507'200}, Published{"phi-4-mini", 3'836'021'760},
        Published{"pythia-1.4b", 1'414'647'808}, Published{"pythia-12b", 11'846'072'320},
        Published{"pythia-160m", 162'322'944}, Published{"pythia-1b", 1'011'781'632},
        Published{"pythia-2.8b", 2'775'208'960}, Published{"pythia-410m", 405'334'016},
        Published{"pythia-6.9b", 6'857'302'016}, Published{"pythia-70m", 70'426'624},
        Published{"qwen1.5-moe-a2.7b", 14'315'784'192}, Published{"qwen2.5-0.5b", 494'032'768},
        Published{"qwen2.5-1.5b", 1'543'714'304}, Published{"qwen2.5-3b", 3'085'938'688},
        Published{"qwen2.5-72b", 72'706'203'648}, Published{"qwen3-0.6b", 596'049'920},
        Published{"qwen3-1.7b", 1'720'574'976}, Published{"qwen3-14b", 14'768'307'200},
        Published{"qwen3-235b-a22b", 235'093'634'560}, Published{"qwen3-30b-a3b", 30'532'122'624},
        Published{"qwen3-32b", 32'762'123'264}, Published{"qwen3-4b", 4'022'468'096},
        Published{"qwen3-8b", 8'190'735'360}, Published{"smollm2-1.7b", 1'711'376'384},
        Published{"smollm2-135m", 134'515'008}, Published{"smollm3-3b", 3'075'098'624},
        Published{"stablelm-2-1.6b", 1'644'515'328}, Published{"stablelm-3b", 2'795'443'200},
        Published{"starcoder-15b", 15'517'456'384}, Published{"starcoder2-15b", 15'957'889'024},
        Published{"starcoder2-3b", 3'030'371'328}, Published{"starcoder2-7b", 7'173'923'840},
        Published{"tinyllama-1.1b", 1'100'048'384}, Published{"yi-34b", 34'388'917'248}),
    test_name);

// Source: what llama.cpp reports of converted files (n_params), as logs in public repositories show
// it, less what the Hub's files do not have or no gradient changes.
INSTANTIATE_TEST_SUITE_P(
    CountsOfConvertedFiles, HubModel,
    testing::Values(Published{"qwen3.5-27b", 26'895'998'464},
                    Published{"qwen3.5-35b-a3b", 34'660'610'688},
                    Published{"qwen3.5-122b-a10b", 122'111'526'912},
                    Published{"qwen3.5-397b-a17b", 396'346'350'336},
                    Published{"granite-4.0-h-micro", 3'191'396'096},
                    Published{"granite-4.0-h-small", 32'207'337'984},
                    Published{"gemma-4-31b", 30'697'345'280},
                    // a scalar a block, which is a buffer, and 256 rotary factors
                    Published{"gemma-4-26b-a4b", 25'233'142'046 - 30 - 256},
                    // correction biases of 23 and of 40 routers
                    Published{"nemotron-3-nano-30b-a3b", 31'577'940'288 - 23 * 128},
                    Published{"nemotron-3-super-120b-a12b", 120'668'707'840 - 40 * 512}),
    test_name);

TEST(LibraryModel, Qwen3NextHasItsPublishedCount) {
  // Source: llama.cpp's n_params of Qwen3-Coder-Next, 79,674,391,296
  const Model model = from_config(R"({"model_type": "qwen3_next", "hidden_size": 2048,
      "num_hidden_layers": 48, "num_attention_heads": 16, "num_key_value_heads": 2,
      "head_dim": 256, "vocab_size": 151936, "num_experts": 512, "num_experts_per_tok": 10,
      "moe_intermediate_size": 512, "shared_expert_intermediate_size": 512,
      "linear_num_value_heads": 32, "linear_num_key_heads": 16})");
  EXPECT_EQ(model.parameters.value(), 79'674'391'296u);
}

TEST(LibraryModel, AnIndexerAddsFiveTensorsABlock) {
  const auto count = [](const char* name) { return from_library(name).parameters.value(); };
  // DeepSeek-V3.2 is V3 with 64 heads of 128 from a latent of 1536, a key of 128 from 7168 with a
  // norm of 2 x 128, and a share a head, in 61 blocks
  const std::uint64_t each = 1536 * 64 * 128 + 7168 * 128 + 2 * 128 + 7168 * 64;
  EXPECT_EQ(count("deepseek-v3.2"), count("deepseek-v3") + 61 * each);
  // GLM-5.2 has the indexers of 21 blocks of 78, GLM-5 all: 32 heads of 128 from a latent of 2048
  const std::uint64_t of_glm = 2048 * 32 * 128 + 6144 * 128 + 2 * 128 + 6144 * 32;
  EXPECT_EQ(count("glm-5"), count("glm-5.2") + 57 * of_glm);
}

TEST(LibraryModel, Glm5HasTheSumOfItsTensors) {
  // 78 blocks: latents of 2048, and of 512 with 64 rotated elements, 64 heads of 192 + 64 and
  // values of 256; 3 dense of 12288; 75 of 256 experts and a shared one of 2048; card: 744 B
  const std::uint64_t h = 6144;
  const std::uint64_t attention = h * 2048 + 2048 + 2048 * 64 * 256 + h * (512 + 64) + 512 +
                                  512 * 64 * (192 + 256) + 64 * 256 * h;
  const std::uint64_t indexer = 2048 * 32 * 128 + h * 128 + 2 * 128 + h * 32;
  const std::uint64_t blocks =
      78 * (attention + indexer + 2 * h) + 3 * 3 * h * 12288 + 75 * (257 * 3 * h * 2048 + h * 256);
  EXPECT_EQ(from_library("glm-5").parameters.value(), blocks + 2 * 154880 * h + h);
}

TEST(LibraryModel, MimoV2FlashHasTheSumOfItsTensors) {
  // 9 blocks with 4 heads of keys, 39 sliding ones with 8 and 64 sinks; 64 heads of 192, values of
  // 128; one dense of 16384, 47 of 256 experts of 2048; card: 309 B, 15 B active
  const std::uint64_t h = 4096;
  const auto attention = [&](std::uint64_t keys) {
    return h * 64 * 192 + h * keys * (192 + 128) + 64 * 128 * h;
  };
  const std::uint64_t blocks = 9 * attention(4) + 39 * (attention(8) + 64) + 48 * 2 * h +
                               3 * h * 16384 + 47 * (256 * 3 * h * 2048 + h * 256);
  EXPECT_EQ(from_library("mimo-v2-flash").parameters.value(), blocks + 2 * 152576 * h + h);
}

TEST(LibraryModel, NemotronSuperHasTheSumOfItsBlocks) {
  // 128256 words; block_configs: attention of 64 heads and 8 of keys of 128 in 49 of 80 blocks, and
  // feed-forwards of 1,642,496 columns in all, each half with a norm; card: 49.9 B
  const std::uint64_t h = 8192;
  const std::uint64_t halves = 49 * (2 * h * h + 2 * h * 1024 + h) + 1'642'496 * 3 * h + 80 * h;
  EXPECT_EQ(from_library("nemotron-super-49b").parameters.value(), halves + 2 * 128256 * h + h);
}

/// Of Mamba 2 with one group of 128 states and a kernel of 4 with bias, without the norm before it.
std::uint64_t mamba(std::uint64_t h, std::uint64_t heads, std::uint64_t width) {
  const std::uint64_t mixed = width + 2 * 128;
  return h * (width + mixed + heads) + 5 * mixed + 3 * heads + width + width * h;
}

TEST(LibraryModel, GraniteTinyHasTheSumOfItsTensors) {
  // 36 state spaces of 48 heads of 64 and 4 of attention, 12 heads of 128 and 4 of keys; in each of
  // 40 blocks 64 experts of 512 and a shared one of 1024; llama.cpp: 6.94 B
  const std::uint64_t h = 1536;
  const std::uint64_t attention = 2 * h * h + 2 * h * 512;
  const std::uint64_t each = 64 * 3 * h * 512 + 64 * h + 3 * h * 1024 + 2 * h;
  const std::uint64_t count = from_library("granite-4.0-h-tiny").parameters.value();
  EXPECT_EQ(count, 36 * mamba(h, 48, 3072) + 4 * attention + 40 * each + 100352 * h + h);
  EXPECT_NEAR(static_cast<double>(count), 6.94e9, 0.005e9);
}

TEST(LibraryModel, BambaHasTheSumOfItsTensors) {
  // Bamba-9B: 128 heads of 64 and 128 states; attention in 3 blocks of 32; card: 9.78 B
  const Model model = from_config(R"({"model_type": "bamba", "vocab_size": 128256,
      "attn_layer_indices": [9, 18, 27], "mamba_d_state": 128})");
  const std::uint64_t h = 4096;
  const std::uint64_t attention = 2 * h * h + 2 * h * 1024;
  EXPECT_EQ(model.parameters.value(), 29 * mamba(h, 128, 8192) + 3 * attention +
                                          32 * (3 * h * 14336 + 2 * h) + 2 * 128256 * h + h);
  EXPECT_NEAR(static_cast<double>(model.parameters.value()), 9.78e9, 0.005e9);
}

std::uint64_t active(const char* name) { return from_library(name).active_parameters.value(); }

TEST(ActiveParameters, LeaveOutTheExpertsThatATokenDoesNotChoose) {
  // Qwen3-30B-A3B: 48 blocks of 128 experts, 8 chosen, of three matrices 768 x 2048; card: 3.3 B
  EXPECT_EQ(active("qwen3-30b-a3b"), 30'532'122'624 - 48ull * 120 * 3 * 768 * 2048);
  EXPECT_EQ(active("qwen3-30b-a3b"), 3'353'032'704u);
  // Qwen3-235B-A22B: 94 blocks, 1536 x 4096; card: 22 B
  EXPECT_EQ(active("qwen3-235b-a22b"), 235'093'634'560 - 94ull * 120 * 3 * 1536 * 4096);
  // DeepSeek-V3: 58 blocks behind 3 dense ones, 256 experts, 8 chosen and 1 shared; paper: 37 B
  EXPECT_EQ(active("deepseek-v3"), 671'026'404'352 - 58ull * 248 * 3 * 2048 * 7168);
  // Kimi-K2: 60 blocks behind a dense one, 384 experts, 8 chosen; card: 32 B
  EXPECT_EQ(active("kimi-k2"), 1'026'408'209'408 - 60ull * 376 * 3 * 2048 * 7168);
  // gpt-oss-120b: 36 blocks, 128 experts with biases, 4 chosen; card: 5.13 B, that is without the
  // embedding, 201088 x 2880
  EXPECT_EQ(active("gpt-oss-120b"), 116'829'156'672 - 36ull * 124 * (3 * 2880 * 2880 + 3 * 2880));
  EXPECT_NEAR(static_cast<double>(active("gpt-oss-120b") - 201088ull * 2880), 5.13e9, 0.005e9);
  EXPECT_NEAR(static_cast<double>(active("gpt-oss-20b") - 201088ull * 2880), 3.61e9, 0.005e9);
  // Gemma 4: 30 blocks of 128 experts, 8 chosen; card: 3.8 B
  EXPECT_EQ(active("gemma-4-26b-a4b"), 25'233'141'760 - 30ull * 120 * 3 * 704 * 2816);
  EXPECT_NEAR(static_cast<double>(active("gemma-4-26b-a4b")), 3.8e9, 0.05e9);
  // Nemotron 3: 23 blocks of 128 experts of two matrices, 6 chosen; 40 of 512, 22 chosen, which
  // read latents of 1024
  EXPECT_EQ(active("nemotron-3-nano-30b-a3b"), 31'577'937'344 - 23ull * 122 * 2 * 1856 * 2688);
  EXPECT_EQ(active("nemotron-3-super-120b-a12b"), 120'668'687'360 - 40ull * 490 * 2 * 2688 * 1024);
  // Granite 4.0 H: 40 blocks of 64 and of 72 experts, 6 and 10 chosen; card: 1 B and 9 B
  EXPECT_EQ(active("granite-4.0-h-tiny"), 6'939'037'248 - 40ull * 58 * 3 * 512 * 1536);
  EXPECT_EQ(active("granite-4.0-h-small"), 32'207'337'984 - 40ull * 62 * 3 * 768 * 4096);
  // LFM2-8B-A1B: 22 blocks of 32 experts, 4 chosen; card: 1.5 B
  EXPECT_EQ(active("lfm2-8b-a1b"), 8'339'929'856 - 22ull * 28 * 3 * 1792 * 2048);
  EXPECT_NEAR(static_cast<double>(active("lfm2-8b-a1b")), 1.56e9, 0.005e9);
  // Kimi Linear: 26 blocks of 256 experts, 8 chosen; card: 3 B
  EXPECT_EQ(active("kimi-linear-48b-a3b"), 49'122'675'072 - 26ull * 248 * 3 * 1024 * 2304);
  // Qwen 3.5: 40 blocks of 256 experts, 8 chosen
  EXPECT_EQ(active("qwen3.5-35b-a3b"), 34'660'610'688 - 40ull * 248 * 3 * 512 * 2048);
}

TEST(ActiveParameters, AreAllOfADenseModel) { EXPECT_EQ(active("qwen3-8b"), 8'190'735'360u); }

}  // namespace
}  // namespace spillway::models
