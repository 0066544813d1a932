#include "e2e/command.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "formats/testing/folder.h"

namespace lockstep::e2e {
namespace {

constexpr int kSilenceMs = 60'000;

// In the child: becomes the program.
[[noreturn]] void become(const Command& command) {
  for (const std::string& variable : command.environment) {
    const size_t equals = variable.find('=');
    ::setenv(variable.substr(0, equals).c_str(), variable.substr(equals + 1).c_str(), 1);
  }
  std::vector<std::string> words = {LOCKSTEP_PROGRAM};
  words.insert(words.end(), command.arguments.begin(), command.arguments.end());
  std::vector<char*> argv;
  argv.reserve(words.size() + 1);
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  ::execv(argv[0], argv.data());
  ::_exit(127);
}

void redirect(int descriptor, const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags, 0600);
  ::dup2(file, descriptor);
  ::close(file);
}

std::string contents(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path, std::ios::binary).rdbuf();
  return out.str();
}

}  // namespace

std::vector<std::string> Outcome::error_lines() const {
  std::vector<std::string> lines;
  std::istringstream in(err);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

Outcome Command::run() const {
  const formats::TestFolder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    redirect(STDIN_FILENO, "/dev/null", O_RDONLY);
    redirect(STDOUT_FILENO, folder.path("out"), O_WRONLY | O_CREAT);
    redirect(STDERR_FILENO, folder.path("err"), O_WRONLY | O_CREAT);
    become(*this);
  }
  int status = 0;
  rusage usage = {};
  EXPECT_EQ(::wait4(child, &status, 0, &usage), child);
  return {.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1,
          .out = contents(folder.path("out")),
          .err = contents(folder.path("err")),
          .peak_memory_bytes = int64_t{usage.ru_maxrss} * 1024};
}

Terminal::Terminal(const Command& command) {
  process_ = ::forkpty(&master_, nullptr, nullptr, nullptr);
  if (process_ == 0) become(command);
}

Terminal::~Terminal() {
  if (process_ > 0) {
    ::kill(process_, SIGKILL);
    ::waitpid(process_, nullptr, 0);
  }
  ::close(master_);
}

void Terminal::type(std::string_view keys) {
  EXPECT_EQ(::write(master_, keys.data(), keys.size()), static_cast<ssize_t>(keys.size()));
}

bool Terminal::read_more() {
  pollfd ready = {.fd = master_, .events = POLLIN, .revents = 0};
  if (::poll(&ready, 1, kSilenceMs) != 1) return false;
  char buffer[4096];
  const ssize_t n = ::read(master_, buffer, sizeof buffer);
  if (n <= 0) return false;
  shown_.append(buffer, static_cast<size_t>(n));
  return true;
}

bool Terminal::wait_for(std::string_view text) {
  while (true) {
    if (const size_t at = shown_.find(text, seen_); at != std::string::npos) {
      seen_ = at + text.size();
      return true;
    }
    if (!read_more()) return false;
  }
}

int Terminal::finish() {
  while (read_more()) {
  }
  // It has closed the terminal or been silent for long: what has not ended soon does not end.
  constexpr int kTries = 100;
  constexpr int kPauseMs = 100;
  for (int i = 0; i < kTries; ++i) {
    int status = 0;
    if (::waitpid(process_, &status, WNOHANG) == process_) {
      process_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    ::poll(nullptr, 0, kPauseMs);
  }
  return -1;  // the destructor ends it
}

}  // namespace lockstep::e2e
