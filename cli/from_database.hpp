#pragma once

#include "explore/store/store.hpp"
#include "scenarios/description/errors.hpp"

#include <stdexcept>
#include <string>

namespace spillway::cli {

/// What `read` does with a database. What does not go together there is the file's fault.
///   Throws  DeviceError in place of what a library throws
template <class Read>
auto from_database(const std::string& file, const Read& read) {
  const auto fault = [&file](const std::exception& error) {
    return description::DeviceError(
        explore::damaged(file, std::string("its rows do not go together: ") + error.what()));
  };
  try {
    return read();
  } catch (const nlohmann::json::exception& error) {
    throw fault(error);
  } catch (const std::out_of_range& error) {
    throw fault(error);
  } catch (const std::invalid_argument& error) {
    throw fault(error);
  }
}

}  // namespace spillway::cli
