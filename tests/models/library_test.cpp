#include "tests/models/configs.hpp"

#include <gtest/gtest.h>

namespace spillway::models {
namespace {

struct Published {
  const char* name;
  std::uint64_t parameters;
};

class HubModel : public testing::TestWithParam<Published> {};

// Source: the totals that the Hugging Face Hub shows of the weights' files, a tied head once, or
// for Pythia the table of its model card. Without the layers for multi-token prediction, routers'
// correction biases (buffers that no gradient changes) and towers.
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
    [](const auto& row) {
      std::string name = row.param.name;
      for (char& c : name)
        if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
      return name;
    });

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
}

TEST(ActiveParameters, AreAllOfADenseModel) { EXPECT_EQ(active("qwen3-8b"), 8'190'735'360u); }

}  // namespace
}  // namespace spillway::models
