#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

namespace spillway::explore {

/// Asked at least ten times a second while there is work in children, and before each bound that is
/// computed; false ends what is not done yet.
///   done  pieces of work that were done since it was asked last
using Watch = std::function<bool(std::size_t done)>;

/// What came of one piece of work.
struct Piece {
  enum class End : unsigned char {
    done,         ///< of its own accord: `text`, and `status` as waitpid gives it
    over_limit,   ///< killed
    not_tried,    ///< the watch ended the work first
    not_started,  ///< no process was to be had: `text` says why
  };
  End end = End::not_tried;
  std::string text;
  int status = 0;
};

/// Works out each text in a child process of its own, `jobs` at a time; one that takes longer than
/// `limit_s` is killed.
///   work    by number, below `count`
///   watch   may be empty
///   Result  by number
std::vector<Piece> in_children(std::size_t count,
                               const std::function<std::string(std::size_t)>& work,
                               std::size_t jobs, double limit_s, const Watch& watch);

/// As many as the machine has cores.
std::size_t default_jobs();

}  // namespace spillway::explore
