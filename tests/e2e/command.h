// Test helper: runs a program as its user does and keeps what it said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace lockstep::e2e {

struct Outcome {
  int exit_status = -1;  // -1: ended by a signal
  std::string out;       // standard output
  std::string err;       // standard error
  int64_t peak_memory_bytes = 0;

  std::vector<std::string> error_lines() const;
};

struct Command {
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value", besides our own

  // The program lockstep of this build, standard input empty.
  Outcome run() const;
};

// lockstep on a terminal of its own.
class Terminal {
 public:
  explicit Terminal(const Command& command);
  ~Terminal();  // kills what still runs
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;

  void type(std::string_view keys);
  // Reads until `text` has come after what earlier calls read past; false if the program ends, or
  // says nothing for a minute, before that.
  bool wait_for(std::string_view text);
  // All that was shown, standard error included.
  const std::string& shown() const { return shown_; }
  // The exit status once the program has ended; -1 for a signal, or when it does not end.
  int finish();

 private:
  bool read_more();

  int master_ = -1;
  int process_ = -1;
  std::string shown_;
  size_t seen_ = 0;
};

}  // namespace lockstep::e2e
