#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace spillway::scenarios {

/// What is known of a key of DeepSpeed's configurations that the import does not read.
struct KeyRemark {
  enum class Kind {
    no_effect,     ///< on memory, bytes or time of a step, here or at all
    not_modelled,  ///< has one, which `words` names
    unknown,       ///< no key of DeepSpeed's; `words` may have the key that was meant
  };
  Kind kind = Kind::unknown;
  std::string words;
};

/// Of a dotted path such as "zero_optimization.zenflow.topk_ratio". Keys of a section that has a
/// remark as a whole share it.
KeyRemark remark_on(const std::string& path);

/// The older or inner name of a key of zero_optimization: "max_live_parameters" for
/// "stage3_max_live_parameters"; "" where there is none.
std::string other_name(const std::string& key);

/// What may stand in the place of a section's object.
enum class Instead { nothing, null, flag };

/// A section at the top of a configuration.
struct SectionShape {
  std::string_view name;
  std::string_view example;  ///< of its object; "": none needed
  Instead instead;
};
std::span<const SectionShape> sections_of_deepspeed();

}  // namespace spillway::scenarios
