#include "tests/hw_backend/cuda/session.hpp"

#include <cmath>

namespace spillway::hw_backend {

namespace {

constexpr std::uint64_t widths[] = {24, 37, 1100};

void check_norm(Device& device, Report& report, NormKind kind, Element type, std::uint64_t width) {
  Session session(device, report);
  constexpr std::uint64_t rows = 70;
  const bool centred = kind == NormKind::layer;
  const Norm norm{kind, 1e-5f, rows, width};
  Operand x(device, rows * width, type, 1), weight(device, width, type, 2);
  Operand bias(device, width, type, 3), y(device, rows * width, type, 4);
  Operand statistics(device, (centred ? 2 : 1) * rows, Element::fp32, 5);
  Operand dy(device, rows * width, type, 6), dx(device, rows * width, type, 7);
  Operand dweight(device, width, type, 8), dbias(device, width, type, 9);
  session.both([&](Primitives& p, Side side) {
    auto* const sums = statistics.as<float>(side);
    p.norm(norm, x.in(side), weight.in(side), centred ? bias.in(side) : Input(), sums, y.out(side));
    p.norm_backward(norm, dy.in(side), x.in(side), sums, weight.in(side), dx.out(side),
                    dweight.out(side, true), centred ? dbias.out(side) : Output());
  });
  const std::string name =
      (centred ? "layer norm" : "root mean square norm") + (" of " + std::to_string(width));
  session.near(name + ", statistics", statistics, 1e-5);
  session.near(name, y, precision_of(type));
  session.near(name + ", input gradient", dx, precision_of(type));
  session.near(name + ", weight gradient", dweight, precision_of(type));
  session.near(name + ", bias gradient", dbias, precision_of(type));
  session.repeats(name, {&x, &dy, &statistics, &dx, &dweight, &dbias}, [&](Primitives& p, Side s) {
    p.norm_backward(norm, dy.in(s), x.in(s), statistics.as<float>(s), weight.in(s), dx.out(s),
                    dweight.out(s), dbias.out(s));
  });
}

void norms(Device& device, Report& report) {
  for (const NormKind kind : {NormKind::layer, NormKind::root_mean_square})
    for (const Element type : all_types)
      for (const std::uint64_t width : widths) check_norm(device, report, kind, type, width);
}

/// Rows beyond what threads keep of them in registers, and what the rows' statistics are then.
void long_rows(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types) {
    constexpr std::uint64_t width = 9001, rows = 3;
    Operand x(device, rows * width, type, 1, 3), y(device, rows * width, type, 2);
    Operand weight(device, width, type, 3), normed(device, rows * width, type, 4);
    Operand statistics(device, 2 * rows, Element::fp32, 5), dx(device, rows * width, type, 6);
    Operand dweight(device, width, type, 7), bias(device, width, type, 8);
    const Norm norm{NormKind::layer, 1e-5f, rows, width};
    session.both([&](Primitives& p, Side side) {
      auto* const sums = statistics.as<float>(side);
      p.softmax({rows, width}, x.in(side), y.out(side));
      p.norm(norm, x.in(side), weight.in(side), bias.in(side), sums, normed.out(side));
      p.norm_backward(norm, y.in(side), x.in(side), sums, weight.in(side), dx.out(side),
                      dweight.out(side), Output());
    });
    session.near("softmax of a long row", y, precision_of(type));
    session.near("norm of a long row", normed, precision_of(type));
    session.near("gradient through the norm of a long row", dx, precision_of(type), 1e-3);
    session.near("weight gradient of long rows", dweight, precision_of(type));
  }
}

/// Of more rows than one part of a sum has, and from memory that begins anywhere: the same bits.
void sums_over_rows(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (const std::uint64_t width : {40u, 301u}) {
      constexpr std::uint64_t rows = 700;
      Operand x(device, rows * width, type, 1), sum(device, width, type, 2);
      Operand more(device, width, Element::fp32, 3);
      Operand moved(device, rows * width, type, 1, 1, size_of(type));
      Operand same(device, width, type, 4);
      const auto work = [&](Primitives& p, Side side) {
        p.sum_rows(rows, width, x.in(side), sum.out(side));
        p.sum_rows(rows, width, x.in(side), more.out(side, true));
        p.sum_rows(rows, width, moved.in(side), same.out(side));
      };
      session.both(work);
      session.near("sum over rows", sum, precision_of(type));
      session.near("sum over rows, adds", more, precision_of(Element::fp32));
      report.expect(sum.download() == same.download(),
                    "a sum over rows has other bits where its rows begin elsewhere");
      session.repeats("sum over rows", {&x, &sum, &more}, work);
    }
}

/// DoRA's norms of the rows of a matrix, by which columns of activations are divided.
void magnitudes(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (const std::uint64_t width : widths) {
      constexpr std::uint64_t rows = 300, inputs = 61;
      Operand matrix(device, width * inputs, type, 1), norms(device, width, Element::fp32, 2);
      Operand product(device, rows * width, type, 3), added(device, rows * width, type, 4);
      Operand bias(device, width, type, 5), own(device, width, type, 6);
      Operand y(device, rows * width, type, 7), dy(device, rows * width, type, 8);
      Operand dx(device, rows * width, type, 9), down(device, width, type, 10);
      const auto work = [&](Primitives& p, Side side) {
        p.row_norms(width, inputs, matrix.in(side), norms.as<float>(side));
        Rescale call{rows, width, product.in(side), added.in(side)};
        call.bias = bias.in(side);
        call.magnitudes = own.in(side);
        call.norms = norms.as<float>(side);
        p.rescale(call, y.out(side));
        call.bias = Input();
        p.rescale_backward(call, dy.in(side), dx.out(side), down.out(side));
      };
      session.both(work);
      const std::string name = "magnitudes of " + std::to_string(width);
      session.near(name + ", norms", norms, 1e-5);
      session.near(name, y, precision_of(type));
      session.near(name + ", input gradient", dx, precision_of(type));
      session.near(name + ", gradient", down, precision_of(type));
      session.repeats(name, {&norms, &y, &dx, &down}, work);
    }
}

/// Bit for bit: sums have one order, and columns are moved as they are: of a whole matrix, of its
/// second share, and of both, which meet within a row.
void columns(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (const std::uint64_t width : widths)
      for (const std::uint64_t ways : {1u, 2u, 3u}) {
        constexpr std::uint64_t rows = 37;
        const std::uint64_t count = (width + 2) / 3, shares = ways == 1 ? 1 : ways - 1;
        const std::uint64_t share = ways == 1 ? rows * width : rows * width / 2 + 5;
        const std::uint64_t stride = count * (share / width + 2) + 3;  // a share has parts of rows
        Operand matrix(device, shares * share, type, 1), sums(device, width, Element::fp32, 2);
        Operand indices(device, count, Element::fp32, 3);
        Operand packed(device, shares * stride, type, 4), into(device, shares * share, type, 5);
        const auto work = [&](Primitives& p, Side side) {
          auto* const chosen = indices.as<std::uint32_t>(side);
          const std::uint64_t first = ways == 2 ? share : 0;
          const ChosenColumns some{rows, width, count, chosen, first, share, shares, stride};
          p.sum_columns(some, matrix.in(side), sums.as<float>(side));
          p.choose_columns(some, sums.as<float>(side), chosen);
          p.take_columns(some, matrix.in(side), packed.out(side));
          p.put_columns(some, packed.in(side), into.out(side));
        };
        session.both(work);
        const std::string name =
            "columns of " + std::to_string(width) + ", " + std::to_string(ways);
        session.equal(name + ", sums", sums);
        session.equal(name + ", indices", indices);
        session.equal(name + ", packed", packed);
        session.equal(name + ", put back", into);
      }
}

void softmaxes(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (const std::uint64_t width : widths)
      for (const bool causal : {false, true}) {
        const std::uint64_t queries = causal ? std::min<std::uint64_t>(width, 37) : 1, rows = 74;
        const Softmax softmax{causal ? queries * 2 : rows, width, causal, queries};
        Operand x(device, softmax.rows * width, type, 1, 3),
            y(device, softmax.rows * width, type, 2);
        Operand dy(device, softmax.rows * width, type, 3),
            dx(device, softmax.rows * width, type, 4);
        session.both([&](Primitives& p, Side side) {
          p.softmax(softmax, x.in(side), y.out(side));
          p.softmax(softmax, x.in(side), x.out(side));
          p.softmax_backward(softmax, dy.in(side), y.in(side), dx.out(side));
          p.softmax_backward(softmax, dy.in(side), y.in(side), dy.out(side));
        });
        const std::string name = "softmax of " + std::to_string(width);
        for (Operand* result : {&y, &x, &dx, &dy}) session.near(name, *result, precision_of(type));
      }
}

SyntheticText text_of(std::uint64_t vocabulary, std::uint64_t sequence) {
  SyntheticText text;
  RandomKey key;
  key.seed = 3;
  text.tokens = random_stream(RandomUse::tokens, key);
  text.successors = random_stream(RandomUse::successors, key);
  text.vocabulary = vocabulary;
  text.sequence = sequence;
  return text;
}

/// Pinned memory for a loss.
struct PinnedLoss {
  explicit PinnedLoss(Device& of) : device(of), memory(4096 / sizeof(double)) {
    device.pin(reinterpret_cast<std::byte*>(memory.data()), 4096);
  }
  ~PinnedLoss() { device.unpin(reinterpret_cast<std::byte*>(memory.data())); }
  PinnedLoss(const PinnedLoss&) = delete;
  Device& device;
  std::vector<double> memory;
};

void losses(Device& device, Report& report) {
  Session session(device, report);
  PinnedLoss on_device(device);
  for (const Element type : all_types)
    for (const std::uint64_t vocabulary : {50u, 1003u}) {
      constexpr std::uint64_t rows = 40, first = 24;
      Operand x(device, rows * vocabulary, type, 1), dx(device, rows * vocabulary, type, 2);
      Operand p(device, rows * vocabulary, type, 3, 0.1f);
      CrossEntropy call{text_of(vocabulary, 32), first, rows, vocabulary, 64};
      double host_loss = 0.25, *const device_loss = on_device.memory.data();
      *device_loss = 0.25;
      session.both([&](Primitives& primitives, Side side) {
        primitives.cross_entropy(call, x.in(side), side == Side::host ? &host_loss : device_loss);
        primitives.cross_entropy_backward(call, p.in(side), 1024.0f / 64, dx.out(side));
        primitives.cross_entropy_backward(call, p.in(side), 0.5f, p.out(side));
      });
      report.expect(
          std::abs(host_loss - *device_loss) < 1e-5 * host_loss,
          "loss " + std::to_string(*device_loss) + ", should be " + std::to_string(host_loss));
      session.near("logits' gradient", dx, precision_of(type));
      session.near("logits' gradient in place", p, precision_of(type));
    }
}

/// Of words that ranks share: the second of two, whose table has a row without a word.
void shared_losses(Device& device, Report& report) {
  Session session(device, report);
  PinnedLoss on_device(device);
  constexpr std::uint64_t vocabulary = 1003, rows = 40, ranks = 2;
  const WordShare words = words_of(vocabulary, ranks, 1);
  for (const Element type : all_types) {
    Operand x(device, rows * words.rows, type, 1), dx(device, rows * words.rows, type, 2);
    Operand p(device, rows * words.rows, type, 3, 0.1f), y(device, rows * words.rows, type, 4);
    Operand own(device, 2 * rows, Element::fp32, 5), shares(device, rows, Element::fp32, 6);
    Operand all(device, ranks * 2 * rows, Element::fp32, 7);
    CrossEntropy call{text_of(vocabulary, 32), 0, rows, words.rows, rows, words};
    double host_loss = 0.25, *const device_loss = on_device.memory.data();
    *device_loss = 0.25;
    session.both([&](Primitives& primitives, Side side) {
      primitives.cross_entropy_statistics(call, x.in(side), own.as<float>(side));
      primitives.join_losses({rows, ranks, 1}, all.as<float>(side), shares.as<float>(side),
                             side == Side::host ? &host_loss : device_loss);
      CrossEntropy back = call;
      back.shares = shares.as<float>(side);
      primitives.cross_entropy_backward(back, p.in(side), 1024.0f / 64, dx.out(side));
      primitives.softmax({rows, words.rows, false, 1, words.count}, x.in(side), y.out(side));
    });
    report.expect(
        std::abs(host_loss - *device_loss) < 1e-5 * std::abs(host_loss) + 1e-6,
        "loss " + std::to_string(*device_loss) + ", should be " + std::to_string(host_loss));
    session.near("statistics", own, precision_of(Element::fp32));
    session.near("shares of softmaxes", shares, precision_of(Element::fp32));
    session.near("gradient of shared logits", dx, precision_of(type));
    session.near("softmax of shared logits", y, precision_of(type));
  }
}

void embeddings(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (const std::uint64_t positions : {0u, 34u, 66u}) {
      // more tokens than a block looks at together
      constexpr std::uint64_t vocabulary = 300, width = 270, sequence = 32, rows = 9 * sequence;
      Embedding call{text_of(vocabulary, sequence), rows, width, positions,
                     positions > 0 ? 2u : 0u};
      if (positions == 34) call.words = words_of(vocabulary, 2, 1);  // of two ranks' tables
      if (positions == 66) {  // half of the tokens of each sample, in two pieces
        call.text.sequence = 2 * sequence;
        call.text.share = {sequence, 5, 40};
      }
      Operand words(device, vocabulary * width, type, 1), places(device, 66 * width, type, 2);
      Operand hidden(device, rows * width, type, 3), dwords(device, vocabulary * width, type, 4);
      Operand dplaces(device, 66 * width, type, 5), more(device, vocabulary * width, type, 6);
      const auto work = [&](Primitives& p, Side side) {
        const bool has = positions > 0;
        p.embed(call, words.in(side), has ? places.in(side) : Input(), hidden.out(side));
        p.embed_backward(call, hidden.in(side), dwords.out(side),
                         has ? dplaces.out(side) : Output());
        p.embed_backward(call, hidden.in(side), more.out(side, true),
                         has ? dplaces.out(side, true) : Output());
      };
      session.both(work);
      session.equal("hidden", hidden);
      session.equal("words' gradient", dwords);  // one strand of sums, as on the processor
      session.near("words' gradient, adds", more, precision_of(type));
      session.near("positions' gradient", dplaces, precision_of(type));
      session.repeats("embedding", {&hidden, &dwords, &more, &dplaces}, work);
    }
}

void rotations(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (const bool back : {false, true}) {
      const Rotation rotation{2 * 50, 50, 3, 10, 10000, back};
      Rotation shared{2 * 25, 600, 3, 10, 10000, back};
      shared.share = {25, 100, 400};
      Operand values(device, 100 * 30, type, 1), later(device, 50 * 30, type, 2);
      session.both([&](Primitives& p, Side side) {
        p.rotate(rotation, values.out(side));
        p.rotate(shared, later.out(side));
      });
      session.near("rotation", values, precision_of(type));
      session.near("rotation of two pieces", later, precision_of(type));
    }
}

/// Positions beyond what the table of angles has a row for; another head, then the first again.
void late_rotations(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types) {
    const Rotation rotation{600, 600, 5, 16, 500000, false};
    const Rotation other{600, 600, 2, 40, 10000, true, 16};
    Rotation last = other;
    last.first = 23;
    Operand values(device, 600 * 80, type, 1), others(device, 600 * 80, type, 2);
    session.both([&](Primitives& p, Side side) {
      p.rotate(rotation, values.out(side));
      p.rotate(other, others.out(side));
      p.rotate(last, others.out(side));
      p.rotate(rotation, values.out(side));
    });
    session.near("late rotation", values, precision_of(type));
    session.near("rotation of parts", others, precision_of(type));
  }
}

}  // namespace

std::span<const Check> row_checks() {
  static constexpr Check checks[] = {
      {"NormsAreTheProcessors", norms},
      {"SoftmaxesAreTheProcessors", softmaxes},
      {"LossesAreTheProcessors", losses},
      {"SharedLossesAreTheProcessors", shared_losses},
      {"EmbeddingsAreTheProcessors", embeddings},
      {"RotationsAreTheProcessors", rotations},
      {"LateRotationsAreTheProcessors", late_rotations},
      {"LongRowsAreTheProcessors", long_rows},
      {"SumsOverRowsAreTheProcessors", sums_over_rows},
      {"MagnitudesAreTheProcessors", magnitudes},
      {"ColumnsAreTheProcessors", columns},
  };
  return checks;
}

}  // namespace spillway::hw_backend
