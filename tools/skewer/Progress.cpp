// Shows the progress line with a thread that rewrites it once a second.
#include "tools/skewer/Progress.h"
#include "codegen/Compiler/Messages.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <fmt/format.h>
#include <mutex>
#include <string>
#include <thread>
#include <unistd.h>

namespace skewer::driver {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPatience = std::chrono::seconds(2), kPause = std::chrono::seconds(1);
constexpr size_t kMostColumns = 78;

class Line {
public:
  Line() : writer([this] { write(); }) {}
  ~Line() {
    {
      std::lock_guard<std::mutex> guard(lock);
      isDone = true;
      erase();
    }
    ended.notify_all();
    writer.join();
  }
  void change(std::string what) {
    std::lock_guard<std::mutex> guard(lock);
    doing = std::move(what);
  }
  void changeStep(std::string text) {
    std::lock_guard<std::mutex> guard(lock);
    step = std::move(text);
  }
  void clear() {
    std::lock_guard<std::mutex> guard(lock);
    erase();
    quietUntil = Clock::now() + kPatience;
  }

private:
  void erase() {
    if (isShown)
      put("\r\x1b[K");
    isShown = false;
  }
  static void put(const std::string &text) { (void)!::write(STDERR_FILENO, text.data(), text.size()); }
  void write() {
    std::unique_lock<std::mutex> guard(lock);
    while (!ended.wait_for(guard, kPause, [this] { return isDone; })) {
      auto now = Clock::now();
      if (doing.empty() || now < quietUntil)
        continue;
      auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - start).count();
      std::string line = fmt::format("skewer: {}{} … {} s", step, doing, seconds);
      if (line.size() > kMostColumns)
        line = fmt::format("skewer: {}… {} s", (step + doing).substr(0, kMostColumns - 16), seconds);
      put("\r\x1b[K" + line);
      isShown = true;
    }
  }

  std::mutex lock;
  std::condition_variable ended;
  std::string step, doing;
  const Clock::time_point start = Clock::now();
  Clock::time_point quietUntil = start + kPatience;
  bool isShown = false, isDone = false;
  std::thread writer; // last, because it uses the other fields
};

Line *shown = nullptr;

} // namespace

ProgressLine::ProgressLine() {
  if (shown || !llvm::sys::Process::StandardErrIsDisplayed())
    return;
  llvm::outs().SetUnbuffered(); // printed text appears right after the line is removed
  shown = new Line;
  beforePrinting(clearProgress);
}

ProgressLine::~ProgressLine() {
  delete shown;
  shown = nullptr;
}

void nowDoing(const llvm::Twine &what) {
  if (shown)
    shown->change(what.str());
}

std::string stepText(size_t done, size_t all, const std::string &name) {
  constexpr size_t kBar = 10;
  size_t full = all ? kBar * done / all : 0;
  return fmt::format("[{}{}] {} of {}, {}: ", std::string(full, '#'), std::string(kBar - full, '.'), done + 1, all,
                     name);
}

void nowAtStep(size_t done, size_t all, const llvm::Twine &name) {
  if (shown)
    shown->changeStep(stepText(done, all, name.str()));
}

void clearProgress() {
  if (shown)
    shown->clear();
}

} // namespace skewer::driver
