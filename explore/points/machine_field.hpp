#pragma once

#include "scenarios/description/machine_file.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <optional>
#include <string>

namespace spillway::explore {

/// Sets one number of a machine.
using SetField = std::function<void(description::MachineFile&)>;

/// How `path` ("machine.storage.nvme.count") of a machine gets the checked JSON `value` without
/// reading a scenario: rates, sizes, counts of drives and prices, which change nothing that a run
/// does on a machine without limits, but for the stages of a pipeline that is cut by time, which
/// follow from the rates of the GPU.
///   Result  nothing for another path, and where a number of `machine` that nobody wrote follows
///           from this one
std::optional<SetField> field_setter(const description::MachineFile& machine,
                                     const std::string& path, const nlohmann::json& value);

}  // namespace spillway::explore
