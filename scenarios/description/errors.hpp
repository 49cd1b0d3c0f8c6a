#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <vector>

namespace spillway::description {

/// One thing a person wrote that cannot be used: where it stands, what is wrong, what would be
/// right.
struct Complaint {
  std::string file;
  int line = 0;      ///< 1-based; 0 when the complaint is about the whole file or the command line
  int column = 0;    ///< 1-based
  std::string path;  ///< JSON path, dotted: "strategy.optimizer.buffers", "storage[1].read"
  std::string message;
  std::string hint;  ///< the nearest fix; may be empty
};

/// The user's input is wrong: all complaints at once (exit 2).
class ScenarioError : public std::runtime_error {
 public:
  explicit ScenarioError(std::vector<Complaint> complaints);
  const std::vector<Complaint>& complaints() const { return complaints_; }

 private:
  std::vector<Complaint> complaints_;
};

/// "file:line:column: path: message; hint", without the parts that are unknown.
std::string to_string(const Complaint& complaint);

/// A complaint about one word of the command line.
///   path    the option: "--on"
///   Throws  ScenarioError
[[noreturn]] void refuse(const std::string& path, std::string message, std::string hint);

/// A device or the operating system refused: call, code name and device (exit 3).
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A bug of ours (exit 4); thrown by ENSURE, in Release too.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void fail_ensure(const char* condition, const std::string& what,
                              std::source_location where = std::source_location::current());

/// `candidate` nearest to `name` by edit distance when it is near enough to be a slip, else "".
std::string nearest_name(const std::string& name, const std::vector<std::string>& candidates);

/// The message about a name that is none of those known: `no "ssdd"`.
std::string no_such_name(const std::string& name);
/// Its hint: `did you mean "ssd"? known: gpu, host, ssd`.
std::string known_names(const std::string& name, const std::vector<std::string>& known);

}  // namespace spillway::description

#define ENSURE(condition, what) \
  ((condition) ? void() : ::spillway::description::fail_ensure(#condition, what))
