// Makes answers, and implements the C functions that read them.
#include "tools/libskewer/Answer.h"
#include <new>

using skewer::language::Severity;

static_assert(int(Severity::Error) == SKEWER_SEVERITY_ERROR && int(Severity::Warning) == SKEWER_SEVERITY_WARNING &&
                  int(Severity::Note) == SKEWER_SEVERITY_NOTE && int(Severity::Remark) == SKEWER_SEVERITY_REMARK,
              "the compiler's severities are the library's");

skewer_answer *skewer_answer::of(llvm::function_ref<int32_t(skewer_answer &)> call) {
  auto *answer = new (std::nothrow) skewer_answer;
  if (!answer)
    return nullptr;
  {
    llvm::raw_string_ostream messages(answer->messages), printed(answer->text);
    auto keep = [&](skewer::language::Diagnostic diagnostic) {
      skewer::printMessage(messages, diagnostic);
      answer->diagnostics.push_back(std::move(diagnostic));
    };
    skewer::driver::StreamsTo streams(keep, printed);
    answer->status = call(*answer);
  }
  if (answer->status != SKEWER_ANSWER_DONE) {
    answer->text.clear();
    answer->files.clear();
  }
  return answer;
}

void skewer_answer_free(skewer_answer *answer) { delete answer; }

int32_t skewer_answer_status(const skewer_answer *answer) {
  return answer ? answer->status : int32_t(SKEWER_ANSWER_BAD_REQUEST);
}

const char *skewer_answer_text(const skewer_answer *answer) { return answer ? answer->text.c_str() : ""; }
const char *skewer_answer_messages(const skewer_answer *answer) { return answer ? answer->messages.c_str() : ""; }

size_t skewer_answer_diagnostic_count(const skewer_answer *answer) { return answer ? answer->diagnostics.size() : 0; }

skewer_diagnostic skewer_answer_diagnostic(const skewer_answer *answer, size_t number) {
  if (number >= skewer_answer_diagnostic_count(answer))
    return {"", 0, 0, 0, 0, "", ""};
  const skewer::language::Diagnostic &diagnostic = answer->diagnostics[number];
  return {diagnostic.file.c_str(),      diagnostic.line,   diagnostic.column,
          int32_t(diagnostic.severity), diagnostic.length, diagnostic.text.c_str(),
          diagnostic.source.c_str()};
}

size_t skewer_answer_file_count(const skewer_answer *answer) { return answer ? answer->files.size() : 0; }

const char *skewer_answer_file_name(const skewer_answer *answer, size_t number) {
  return number < skewer_answer_file_count(answer) ? answer->files[number].path.c_str() : nullptr;
}

const void *skewer_answer_file(const skewer_answer *answer, size_t number, size_t *bytes) {
  bool isThere = number < skewer_answer_file_count(answer);
  if (bytes)
    *bytes = isThere ? answer->files[number].bytes.size() : 0;
  return isThere ? answer->files[number].bytes.c_str() : nullptr;
}
