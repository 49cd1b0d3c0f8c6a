#pragma once

#include <string>

namespace spillway::answers {

/// Whether the model that a drive says it is names a part of the catalogue by its number, as
/// "Samsung SSD 990 PRO 2TB" and "CT2000T705SSD3" do; "INTEL SSDPF2KX038TZ" does where the part
/// has that alias.
bool names_drive(const std::string& model, const std::string& part);

}  // namespace spillway::answers
