#include "tests/hw_backend/cuda/session.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace spillway::hw_backend {

namespace {

constexpr models::Activation activations[] = {models::Activation::silu, models::Activation::gelu,
                                              models::Activation::gelu_tanh,
                                              models::Activation::relu};
constexpr std::uint64_t some = 5003;  // no eight divides it

/// Every 16-bit pattern widens, and what widens narrows, as element.hpp says: NaNs and all.
void conversions(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : {Element::fp16, Element::bf16}) {
    Operand narrow(device, 65536, type, 1), wide(device, 65536, Element::fp32, 2);
    Operand again(device, 65536, type, 3);
    for (std::uint32_t i = 0; i < 65536; ++i) {
      const auto bits = static_cast<std::uint16_t>(i);
      std::memcpy(narrow.data(Side::host) + 2 * i, &bits, 2);
    }
    narrow.upload();
    session.both([&](Primitives& p, Side side) {
      p.convert(65536, narrow.in(side), wide.out(side));
      p.convert(65536, wide.in(side), again.out(side));
    });
    session.equal("widened", wide);
    session.equal("narrowed again", again);
  }
}

/// Patterns of fp32 that lie on, beside and between what 16 bits can say.
void roundings(Device& device, Report& report) {
  Session session(device, report);
  constexpr std::uint64_t n = 1u << 18;
  for (const Element type : {Element::fp16, Element::bf16}) {
    Operand wide(device, n, Element::fp32, 1), narrow(device, n, type, 2);
    for (std::uint32_t i = 0; i < n; ++i) {
      constexpr std::uint32_t low[] = {0x0, 0x1, 0xFFF, 0x1000, 0x1001, 0x7FFF, 0x8000, 0x8001};
      const std::uint32_t bits = (i / 8) << 17 | ((i / 8) & 0x10000u) | low[i % 8];
      std::memcpy(wide.data(Side::host) + 4 * i, &bits, 4);
    }
    wide.upload();
    session.both([&](Primitives& p, Side side) { p.convert(n, wide.in(side), narrow.out(side)); });
    session.equal("rounded", narrow);
  }
}

void sums(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types) {
    Operand a(device, some, type, 1), b(device, some, type, 2), y(device, some, type, 3);
    Operand sum(device, some, type, 4), wide(device, some, Element::fp32, 5);
    session.both([&](Primitives& p, Side side) {
      p.add(some, a.in(side), b.in(side), y.out(side));
      p.add(some, y.in(side), b.in(side), y.out(side));
      p.convert(some, wide.in(side), sum.out(side, true));
      p.convert(some, a.in(side), wide.out(side, true));
    });
    session.equal("add in place", y);
    session.near("convert, adds to 16 bit", sum, precision_of(type));
    session.equal("convert, adds to fp32", wide);
  }
}

/// Every load that is not aligned for eights.
void slices(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (std::uint64_t first = 0; first < 9; ++first)
      for (const std::uint64_t count : {1u, 3u, 4u, 7u, 8u, 9u, 257u}) {
        Operand a(device, 400, type, 1), y(device, 400, type, 2);
        const std::uint64_t skipped = first * size_of(type);
        session.both([&](Primitives& p, Side side) {
          p.add(count, {a.data(side) + skipped, type}, {a.data(side), type},
                {y.data(side) + skipped, type, false});
        });
        session.equal("add of a slice", y);
      }
}

void activation_functions(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (const models::Activation activation : activations) {
      Operand x(device, some, type, 1, 3), y(device, some, type, 2), dy(device, some, type, 3);
      Operand dx(device, some, type, 4), up(device, some, type, 5), active(device, some, type, 6);
      Operand gated(device, some, type, 7), dgate(device, some, type, 8);
      Operand dup(device, some, type, 9);
      const GatedProduct gate{activation, some};
      session.both([&](Primitives& p, Side side) {
        p.activate(activation, some, x.in(side), y.out(side));
        p.activate_backward(activation, some, dy.in(side), x.in(side), dx.out(side));
        p.gated_product(gate, x.in(side), up.in(side), active.out(side), gated.out(side));
        p.gated_product_backward(gate, dy.in(side), x.in(side), up.in(side), active.in(side),
                                 dgate.out(side), dup.out(side));
      });
      for (Operand* result : {&y, &dx, &active, &gated, &dgate, &dup})
        session.near("activation " + std::to_string(static_cast<int>(activation)), *result,
                     precision_of(type));
    }
}

/// Without a saved activation, and with results where the inputs were.
void gates_in_place(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types) {
    Operand x(device, some, type, 1), up(device, some, type, 2), dy(device, some, type, 3);
    const GatedProduct gate{models::Activation::silu, some};
    session.both([&](Primitives& p, Side side) {
      p.gated_product_backward(gate, dy.in(side), x.in(side), up.in(side), Input(), x.out(side),
                               up.out(side));
      p.gated_product(gate, x.in(side), dy.in(side), Output(), dy.out(side));
    });
    for (Operand* result : {&x, &up, &dy}) session.near("gate", *result, 2 * precision_of(type));
  }
}

Dropout half_dropped() {
  Dropout dropout;
  dropout.probability = 0.3f;
  dropout.stream = random_stream(RandomUse::dropout, {});
  return dropout;
}

void dropouts(Device& device, Report& report) {
  Session session(device, report);
  const Dropout dropout = half_dropped();
  Dropout later = dropout;
  later.first = 1003;
  for (const Element type : all_types) {
    Operand x(device, some, type, 1), f(device, some, type, 2), y(device, some, type, 3);
    Operand alone(device, some, type, 4), dx(device, some, type, 5);
    Operand mask(device, some, Element::fp16, 6);  // twice as many bytes as it has elements
    session.both([&](Primitives& p, Side side) {
      auto* const bytes = mask.as<std::uint8_t>(side);
      p.drop(dropout, some, x.in(side), f.in(side), bytes, y.out(side));
      p.drop(later, some, Input(), f.in(side), bytes + some, alone.out(side));
      p.drop_backward(dropout, some, x.in(side), bytes, dx.out(side));
    });
    session.equal("mask", mask);
    session.equal("dropped sum", y);
    session.near("dropped alone", alone, 0);  // but for the sign of zeros
    session.near("gradient of dropout", dx, 0);
  }
}

void first_values(Device& device, Report& report) {
  Session session(device, report);
  const RandomStream stream = random_stream(RandomUse::initial_values, {});
  for (const Element type : all_types) {
    Operand normal(device, some, type, 1), constant(device, some, type, 2);
    Operand sliced(device, some, type, 3);
    // of rows of 1000 two pieces of 70 and 30
    WeightSlice slice;
    slice.whole_row = 1000;
    slice.own_row = 100;
    slice.pieces[0] = {210, 70};
    slice.pieces[1] = {630, 30};
    session.both([&](Primitives& p, Side side) {
      p.initialize({0.5f, 0.02f}, stream, 12345, some, normal.out(side));
      p.initialize({1, 0}, stream, 0, some, constant.out(side));
      p.initialize({0.5f, 0.02f}, stream, slice, 12345, some, sliced.out(side));
    });
    session.equal("initial values of a slice", sliced);
    session.equal("initial values", normal);
    session.equal("constant", constant);
  }
}

/// Of a slice with padding behind it; neither blocks nor blocks of scales are all full.
void packed_numbers(Device& device, Report& report) {
  Session session(device, report);
  const RandomStream stream = random_stream(RandomUse::initial_values, {});
  WeightSlice slice;
  slice.elements = some - 5;
  for (const Packing& packing :
       {Packing{some, 37, 0}, Packing{some, 64, 4}, Packing{some, 64, 256}})
    for (const Element type : all_types) {
      Operand packed(device, (packing.bytes() + 1) / 2, Element::fp16, 1);
      Operand y(device, some, type, 2);
      session.both([&](Primitives& p, Side side) {
        p.zero(packed.data(side), packed.bytes());
        p.initialize_packed({0.5f, 0.02f}, stream, slice, 0, packing, packed.data(side));
        p.unpack(packing, packed.data(side), some, y.out(side));
      });
      session.equal("packed", packed);
      session.equal("unpacked", y);
    }
}

void scalings(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types) {
    Operand x(device, some, type, 1), y(device, some, type, 2), divided(device, some, type, 3);
    Operand divisor(device, 1, Element::fp32, 4);
    session.both([&](Primitives& p, Side side) {
      p.scale({0.3f}, some, x.in(side), y.out(side, true));
      p.scale({3, divisor.as<float>(side), 0.25f}, some, x.in(side), divided.out(side));
    });
    session.near("scaled sum", y, precision_of(type));
    session.equal("divided", divided);
  }
}

void zeros(Device& device, Report& report) {
  Session session(device, report);
  Operand x(device, some, Element::fp16, 1);
  session.both([&](Primitives& p, Side side) {
    p.zero(x.data(side) + 6, 2 * 777);
    p.zero(x.data(side), 0);
  });
  session.equal("zero", x);
}

}  // namespace

std::span<const Check> element_checks() {
  static constexpr Check checks[] = {
      {"ConversionsHaveTheBitsOfTheProcessors", conversions},
      {"RoundingsHaveTheBitsOfTheProcessors", roundings},
      {"SumsHaveTheBitsOfTheProcessors", sums},
      {"SlicesMayBeginAtAnyElement", slices},
      {"ActivationsAreTheProcessors", activation_functions},
      {"GatesMayWorkInPlace", gates_in_place},
      {"DropoutDropsWhatTheProcessorDrops", dropouts},
      {"FirstValuesHaveTheBitsOfTheProcessors", first_values},
      {"PackedNumbersHaveTheBitsOfTheProcessors", packed_numbers},
      {"ScalingsAreTheProcessors", scalings},
      {"ZerosAreWhereTheyWereAskedFor", zeros},
  };
  return checks;
}

}  // namespace spillway::hw_backend
