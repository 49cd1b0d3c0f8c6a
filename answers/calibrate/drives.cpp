#include "answers/calibrate/drives.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>
#include <ctime>

namespace spillway::answers {

namespace {

constexpr double seconds_a_day = 86400;

/// Written to one drive of the storage by a step.
double written_by_step(const result::Result& run, const description::StorageSpec& storage) {
  const auto found = run.io.by_storage.find(storage.name);
  if (found == run.io.by_storage.end() || storage.count == 0) return 0;
  return static_cast<double>(found->second.write) / static_cast<double>(storage.count);
}

/// Laid on one drive before the first step.
double placed_on(const result::Result& run, const description::StorageSpec& storage) {
  const auto found = run.placed.find(storage.name);
  if (found == run.placed.end() || storage.count == 0) return 0;
  return static_cast<double>(found->second) / static_cast<double>(storage.count);
}

/// Checkpoints of the whole run on one drive, where they lie on this storage.
double checkpoints_of(const result::Result& run, const description::StorageSpec& storage) {
  if (!run.run || !run.run->drives || run.run->drives->storage != storage.name) return 0;
  const double all = run.run->drives->written_bytes / static_cast<double>(storage.count);
  return std::max(0.0,
                  all - placed_on(run, storage) - run.run->steps * written_by_step(run, storage));
}

/// Left by the drive's own percentage. `used` is rounded to whole percent, so the endurance lies
/// between what half a percent more and less would make of it; 255 stands for all above 254.
void by_percentage(answer::DriveForecast& forecast) {
  const double used = static_cast<double>(forecast.percent_used);
  if (used < 1) return;
  const double written = forecast.written_bytes;
  const auto left = [&](double percent) {
    return std::max(0.0, written * (100 - percent) / percent);
  };
  forecast.least_left = left(used + 0.5);
  forecast.most_left = left(used - 0.5);
}

}  // namespace

std::optional<std::string> day_after(const std::string& day, double days) {
  std::tm date{};
  constexpr double most_days = 365.0 * 7000;
  if (strptime(day.c_str(), "%Y-%m-%d", &date) == nullptr) return {};
  if (!(days >= 0) || days > most_days) return {};
  const std::time_t end = timegm(&date) + static_cast<std::time_t>(days * seconds_a_day);
  gmtime_r(&end, &date);
  return fmt::format("{:04}-{:02}-{:02}", date.tm_year + 1900, date.tm_mon + 1, date.tm_mday);
}

answer::DriveForecast forecast(const evidence::Evidence& evidence, const DriveOf& drive,
                               const result::Result* run, const std::string& today) {
  const description::StorageSpec& storage = *drive.storage;
  answer::DriveForecast forecast;
  forecast.file = evidence.file;
  forecast.storage = storage.name;
  forecast.model = evidence.drive->model;
  forecast.written_bytes = evidence.drive->bytes_written;
  forecast.percent_used = evidence.drive->percent_used;
  if (storage.endurance && storage.endurance->rated.value() > 0 && drive.is_rated) {
    forecast.rated_bytes = static_cast<double>(storage.endurance->rated.value());
    forecast.left_by_rating = std::max(0.0, *forecast.rated_bytes - forecast.written_bytes);
  }
  by_percentage(forecast);
  if (!run || run->step_time_s <= 0) return forecast;
  const double by_step = written_by_step(*run, storage);
  const double checkpoints = checkpoints_of(*run, storage);
  const double days = run->run ? run->run->days : 0;
  double by_day = by_step / run->step_time_s * seconds_a_day;
  if (run->run && days > 0) by_day = (by_step * run->run->steps + checkpoints) / days;
  if (run->run)
    forecast.run_bytes = by_step * run->run->steps + checkpoints + placed_on(*run, storage);
  if (by_day <= 0) return forecast;
  forecast.written_per_day = by_day;
  if (forecast.left_by_rating)
    forecast.day_by_rating = day_after(today, *forecast.left_by_rating / by_day);
  if (forecast.least_left)
    forecast.day_by_percentage =
        day_after(today, (*forecast.least_left + *forecast.most_left) / 2 / by_day);
  return forecast;
}

}  // namespace spillway::answers
