#pragma once

#include "reports/text/text.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace spillway::answer {

/// A file that was read.
struct EvidenceFile {
  std::string file, kind;         ///< "fio 3.33"
  std::vector<text::Text> notes;  ///< what it says and no number follows from, and why
};

/// A number of the machine file that evidence replaces.
struct MovedParameter {
  std::string path;              ///< "storage.nvme.read"
  std::string unit;              ///< as Measurement::unit, or count
  std::optional<double> before;  ///< absent: the machine file does not say
  double after = 0;
  std::string source;  ///< "measured: fio.json, read of 1024 KiB, ..."
};

/// A number that a file tells and the machine file does not take.
struct KeptParameter {
  std::string path, file, why;
};

/// Hardware that does less than it is rated for.
struct Shortfall {
  std::string file, what, unit;
  double rated = 0, found = 0;
  std::string remedy;
};

/// One number of a logged run beside what is predicted with the machine before and after.
struct LoggedNumber {
  std::string what;  ///< "step", "GPU memory", "host memory"
  std::string unit;  ///< s or bytes
  double logged = 0;
  std::optional<double> before, after;  ///< absent: no scenario was named, or it does not fit
};
struct LoggedRun {
  std::string file, program;
  std::uint64_t logged = 0;  ///< steps, or lines about some
  std::vector<LoggedNumber> numbers;
  std::vector<LoggedNumber>
      phases;  ///< as the program names them; parts of one have nothing beside
};

/// When a drive is worn out, by its maker's rating and by what it says it has used up.
struct DriveForecast {
  std::string file, storage, model;
  double written_bytes = 0;
  std::uint64_t percent_used = 0;
  std::optional<double> rated_bytes;            ///< of the machine file
  std::optional<double> left_by_rating;         ///< bytes; 0: written through
  std::optional<double> least_left, most_left;  ///< by its percentage, which is rounded
  std::optional<double> written_per_day;        ///< by the scenario, one drive
  std::optional<std::string> day_by_rating, day_by_percentage;  ///< "2027-03-05"
  std::optional<double> run_bytes;  ///< that the scenario's run.tokens write to one drive
};

/// What `spillway calibrate` answers: a machine file with numbers from what people have measured.
struct Calibration {
  nlohmann::json machine;
  std::string scenario;  ///< that the logs are compared with; "": none
  std::vector<EvidenceFile> files;
  std::vector<MovedParameter> moved;
  std::vector<KeptParameter> kept;
  std::vector<std::string> untouched;  ///< rates of the machine file that are still assumed
  std::vector<Shortfall> shortfalls;
  std::vector<LoggedRun> runs;
  std::vector<DriveForecast> drives;
};

// Schema spillway/answer/calibrate/1; as in simulation.hpp.
void to_json(nlohmann::json& json, const Calibration& calibration);
void from_json(const nlohmann::json& json, Calibration& calibration);

}  // namespace spillway::answer
