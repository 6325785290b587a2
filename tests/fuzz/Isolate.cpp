// Processes: fork, a time limit, the outcome as JSON through an unnamed file.
#include "tests/fuzz/Isolate.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skewer::fuzz {
namespace {

std::string textOf(std::FILE *file) {
  std::string text;
  std::rewind(file);
  char block[4096];
  for (size_t count; (count = std::fread(block, 1, sizeof block, file)) > 0;)
    text.append(block, count);
  std::fclose(file);
  return text;
}

std::string toJson(const Outcome &outcome) {
  return llvm::formatv("{0}", llvm::json::Value(
                                  llvm::json::Object{{"failure", static_cast<int64_t>(outcome.failure)},
                                                     {"message", outcome.message},
                                                     {"error", std::isfinite(outcome.error) ? outcome.error : 1e300},
                                                     {"tolerance", outcome.tolerance},
                                                     {"operands", outcome.operands},
                                                     {"fused", outcome.isFused},
                                                     {"generic", outcome.generic},
                                                     {"classes", llvm::json::Array(outcome.classes)}}))
      .str();
}

std::optional<Outcome> fromJson(const std::string &text) {
  auto value = llvm::json::parse(text);
  if (!value) {
    llvm::consumeError(value.takeError());
    return std::nullopt;
  }
  const llvm::json::Object *object = value->getAsObject();
  Outcome outcome;
  outcome.failure = static_cast<Failure>(object->getInteger("failure").value_or(0));
  outcome.message = object->getString("message").value_or("").str();
  outcome.error = object->getNumber("error").value_or(0);
  outcome.tolerance = object->getNumber("tolerance").value_or(0);
  outcome.operands = object->getInteger("operands").value_or(0);
  outcome.isFused = object->getBoolean("fused").value_or(false);
  outcome.generic = object->getString("generic").value_or("").str();
  if (const llvm::json::Array *classes = object->getArray("classes"))
    for (const llvm::json::Value &name : *classes)
      outcome.classes.push_back(name.getAsString().value_or("").str());
  return outcome;
}

[[noreturn]] void judgeAndExit(const Subject &subject, const Plan &plan, unsigned limitSeconds, std::FILE *answer,
                               std::FILE *diagnostics) {
  dup2(fileno(diagnostics), STDERR_FILENO);
  rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  alarm(limitSeconds);
  std::string text = toJson(judge(subject, plan));
  llvm::errs().flush();
  std::fwrite(text.data(), 1, text.size(), answer);
  std::fflush(answer);
  _exit(0);
}

} // namespace

Child Child::start(const Subject &subject, const Plan &plan, unsigned limitSeconds) {
  Child child;
  child.answer = std::tmpfile();
  child.diagnostics = std::tmpfile();
  if (!child.answer || !child.diagnostics) {
    llvm::errs() << "skewer-fuzz: error: no temporary file: " << std::strerror(errno) << "\n";
    std::exit(2);
  }
  llvm::outs().flush();
  llvm::errs().flush();
  child.id = fork();
  if (child.id < 0) {
    llvm::errs() << "skewer-fuzz: error: no process: " << std::strerror(errno) << "\n";
    std::exit(2);
  }
  if (child.id == 0)
    judgeAndExit(subject, plan, limitSeconds, child.answer, child.diagnostics);
  return child;
}

Outcome Child::finish(int status) {
  std::string text = textOf(answer), printed = textOf(diagnostics);
  answer = diagnostics = nullptr;
  Outcome outcome;
  if (WIFSIGNALED(status)) {
    bool isTimeout = WTERMSIG(status) == SIGALRM;
    outcome.failure = isTimeout ? Failure::Timeout : Failure::Crash;
    outcome.message = isTimeout ? "it took too long" : fmt::format("signal {}", strsignal(WTERMSIG(status)));
  } else if (auto read = fromJson(text)) {
    outcome = *read;
  } else {
    outcome.failure = Failure::Crash;
    outcome.message = fmt::format("the process ended with status {}", WEXITSTATUS(status));
  }
  if (outcome.failure != Failure::None && !printed.empty())
    outcome.message += "\n" + printed;
  return outcome;
}

Outcome Child::wait() {
  int status = 0;
  while (waitpid(id, &status, 0) < 0 && errno == EINTR)
    ;
  return finish(status);
}

} // namespace skewer::fuzz
