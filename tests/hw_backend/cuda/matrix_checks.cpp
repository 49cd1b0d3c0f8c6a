#include "tests/hw_backend/cuda/session.hpp"

namespace spillway::hw_backend {

namespace {

struct Shape {
  std::uint64_t rows, columns, inner;
};

/// Rows in memory are `gap` elements longer than what is used.
struct Case {
  Shape shape;
  Element type, output;
  bool a_transposed, b_transposed, add;
  std::uint64_t batch = 1, gap = 0;
};

std::string name_of(const Case& c) {
  return "product " + std::to_string(c.shape.rows) + " x " + std::to_string(c.shape.columns) +
         " x " + std::to_string(c.shape.inner) + (c.a_transposed ? ", a transposed" : "") +
         (c.b_transposed ? ", b transposed" : "") + (c.add ? ", adds" : "");
}

/// The call on the memory of a side; b is one matrix for the whole batch.
Product product_of(const Case& c, Operand& a, Operand& b, Operand& result, Side side) {
  Product p{c.shape.rows, c.shape.columns, c.shape.inner, c.batch};
  const std::uint64_t a_stride = (c.a_transposed ? c.shape.rows : c.shape.inner) + c.gap;
  const std::uint64_t b_stride = (c.b_transposed ? c.shape.inner : c.shape.columns) + c.gap;
  const std::uint64_t c_stride = c.shape.columns + c.gap;
  p.a = {a.in(side), a_stride, c.a_transposed, a.elements() / c.batch};
  p.b = {b.in(side), b_stride, c.b_transposed, 0};
  p.c = {result.out(side, c.add), c_stride, c.shape.rows * c_stride};
  p.scale = 0.5f;
  return p;
}

void check_product(Device& device, Report& report, const Case& c) {
  Session session(device, report);
  const std::uint64_t a_rows = c.a_transposed ? c.shape.inner : c.shape.rows;
  const std::uint64_t a_columns = c.a_transposed ? c.shape.rows : c.shape.inner;
  const std::uint64_t b_rows = c.b_transposed ? c.shape.columns : c.shape.inner;
  const std::uint64_t b_columns = c.b_transposed ? c.shape.inner : c.shape.columns;
  Operand a(device, c.batch * a_rows * (a_columns + c.gap), c.type, 1);
  Operand b(device, b_rows * (b_columns + c.gap), c.type, 2);
  Operand result(device, c.batch * c.shape.rows * (c.shape.columns + c.gap), c.output, 3);
  const auto work = [&](Primitives& primitives, Side side) {
    primitives.product(product_of(c, a, b, result, side));
  };
  session.both(work);
  session.near(name_of(c), result, precision_of(c.output));
}

void products(Device& device, Report& report) {
  for (const Element type : all_types)
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        for (const bool add : {false, true})
          check_product(device, report, {{19, 23, 31}, type, type, a, b, add, 2, 3});
}

void sixteen_bit_products_in_fp32(Device& device, Report& report) {
  for (const Element type : {Element::fp16, Element::bf16})
    for (const bool add : {false, true})
      check_product(device, report, {{64, 48, 40}, type, Element::fp32, false, true, add});
}

void products_of_thin_matrices(Device& device, Report& report) {
  for (const Element type : all_types) {
    check_product(device, report, {{1, 1, 1}, type, type, false, false, false});
    check_product(device, report, {{1, 40, 70}, type, type, false, true, true});
    check_product(device, report, {{40, 1, 70}, type, type, true, false, true});
    check_product(device, report, {{40, 50, 1}, type, type, true, true, false});
  }
}

// A tile has at most 4096 rows and 8 Mi elements.
void products_of_several_tiles(Device& device, Report& report) {
  for (const bool add : {false, true}) {
    check_product(device, report, {{4097, 5, 3}, Element::bf16, Element::bf16, false, true, add});
    check_product(device, report,
                  {{4099, 2050, 2}, Element::fp32, Element::fp32, true, false, add});
  }
}

/// What adds holds the bits of a product into other memory that is added afterwards.
void adding_is_a_product_and_a_sum(Device& device, Report& report) {
  for (const Element type : all_types) {
    const Case c{{96, 80, 200}, type, type, true, false, false};
    Operand a(device, 200 * 96, type, 1), b(device, 200 * 80, type, 2);
    Operand sum(device, 96 * 80, type, 3), other(device, 96 * 80, type, 4);
    Case adds = c;
    adds.add = true;
    run_on(device, [&](Primitives& p) { p.product(product_of(adds, a, b, sum, Side::device)); });
    const std::vector<std::byte> at_once = sum.download();
    sum.upload();
    run_on(device, [&](Primitives& p) {
      p.product(product_of(c, a, b, other, Side::device));
      p.convert(96 * 80, other.in(Side::device), sum.out(Side::device, true));
    });
    report.expect(at_once == sum.download(),
                  std::string(to_string(type)) + ": adding a product has bits of its own");
  }
}

/// Tensors begin at multiples of 64 bytes: which one must not matter, nor which call it is.
void check_bits(Device& device, Report& report, const Case& c) {
  const std::uint64_t a_elements = c.batch * c.shape.rows * c.shape.inner;
  const std::uint64_t b_elements = c.shape.inner * c.shape.columns;
  std::vector<std::byte> first;
  for (const std::uint64_t shift : {0u, 64u, 128u, 192u}) {
    Operand a(device, a_elements, c.type, 1, 1, shift);
    Operand b(device, b_elements, c.type, 2, 1, 2 * shift);
    Operand result(device, c.batch * c.shape.rows * c.shape.columns, c.output, 3, 1, 192 - shift);
    for (int time = 0; time < 2; ++time) {
      run_on(device, [&](Primitives& p) { p.product(product_of(c, a, b, result, Side::device)); });
      if (first.empty()) first = result.download();
      report.expect(first == result.download(),
                    name_of(c) + ", " + std::string(to_string(c.type)) + ": other bits " +
                        std::to_string(shift) + " bytes further on, call " + std::to_string(time));
    }
  }
}

void products_have_the_same_bits_anywhere(Device& device, Report& report) {
  for (const Element type : all_types)
    for (const bool a : {false, true})
      for (const bool b : {false, true})
        check_bits(device, report, {{128, 192, 160}, type, type, a, b, false});
}

/// Shapes of a 7B model's layer and of its attention, which other kernels compute than small ones.
void layers_products_have_the_same_bits_anywhere(Device& device, Report& report) {
  constexpr Element type = Element::bf16;
  for (const bool a : {false, true})
    for (const bool b : {false, true})
      check_bits(device, report, {{4096, 2048, 4096}, type, type, a, b, false});
  for (const bool b : {false, true})
    check_bits(device, report, {{256, 4096, 128}, type, Element::fp32, false, b, false, 8});
}

void products_repeat(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types) {
    const Case c{{160, 128, 640}, type, type, true, false, true};
    Operand a(device, 640 * 160, type, 1), b(device, 640 * 128, type, 2);
    Operand result(device, 160 * 128, type, 3);
    session.repeats(name_of(c), {&a, &b, &result}, [&](Primitives& p, Side side) {
      p.product(product_of(c, a, b, result, side));
    });
  }
}

void biases_and_sums_of_rows(Device& device, Report& report) {
  Session session(device, report);
  for (const Element type : all_types)
    for (const std::uint64_t width : {1u, 37u, 300u}) {
      Operand bias(device, width, type, 1), y(device, 70 * width, type, 2);
      Operand sum(device, width, type, 3), more(device, width, type, 4);
      session.both([&](Primitives& p, Side side) {
        p.add_bias(70, width, bias.in(side), y.out(side));
        p.sum_rows(70, width, y.in(side), sum.out(side));
        p.sum_rows(70, width, y.in(side), more.out(side, true));
      });
      session.equal("add_bias", y);
      session.near("sum_rows", sum, precision_of(type));
      session.near("sum_rows, adds", more, precision_of(type));
    }
}

}  // namespace

std::span<const Check> matrix_checks() {
  static constexpr Check checks[] = {
      {"ProductsAreTheProcessors", products},
      {"ProductsOfSixteenBitsMayBeFp32", sixteen_bit_products_in_fp32},
      {"ProductsOfThinMatricesAreTheProcessors", products_of_thin_matrices},
      {"ProductsOfSeveralTilesAreTheProcessors", products_of_several_tiles},
      {"AddingIsAProductAndASum", adding_is_a_product_and_a_sum},
      {"ProductsHaveTheSameBitsAnywhere", products_have_the_same_bits_anywhere},
      {"ALayersProductsHaveTheSameBitsAnywhere", layers_products_have_the_same_bits_anywhere, true},
      {"ProductsRepeat", products_repeat},
      {"BiasesAndSumsOfRowsAreTheProcessors", biases_and_sums_of_rows},
  };
  return checks;
}

}  // namespace spillway::hw_backend
