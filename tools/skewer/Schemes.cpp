// `skewer schemes`: the built-in scheme files: what to call and with what, and the comments that say why; of one, its
// source.
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Language.h"
#include "dialect/Language/Parser.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <list>
#include <set>

namespace skewer::driver {
namespace {

/// A definition up to the parenthesis that closes its arguments.
std::string headOf(llvm::StringRef text) {
  int depth = 0;
  std::string head;
  for (char c : text) {
    bool space = c == ' ' || c == '\n';
    if (!space || (!head.empty() && head.back() != ' '))
      head += space ? ' ' : c;
    depth += (c == '(') - (c == ')');
    if (c == ')' && depth == 0)
      break;
  }
  return head;
}

void listAll() {
  for (const language::SchemeFile &file : language::builtinSchemes()) {
    printed() << file.name << "\n";
    for (llvm::StringRef rest = file.text; !rest.empty(); rest = rest.split('\n').second) {
      if (rest.starts_with("#"))
        printed() << "    " << rest.split('\n').first.drop_front(1).trim() << "\n";
      else if (rest.starts_with("scheme "))
        printed() << "  " << headOf(rest) << "\n";
    }
    printed() << "\n";
  }
}

/// Where a built-in scheme stands: its text from the word `scheme` to its end, and the comment above it.
struct Source {
  llvm::StringRef file, comment, text;
};

/// The line before the one that begins at `at`.
llvm::StringRef lineBefore(llvm::StringRef text, size_t at) {
  if (at == 0)
    return {};
  size_t begin = text.take_front(at - 1).rfind('\n');
  begin = begin == llvm::StringRef::npos ? 0 : begin + 1;
  return text.slice(begin, at - 1);
}

/// The lines of comment above a definition; definitions that stand close together share one.
llvm::StringRef commentAbove(llvm::StringRef text, size_t definition) {
  size_t end = definition;
  while (end > 0 && !lineBefore(text, end).starts_with("#")) {
    if (lineBefore(text, end).trim().empty())
      return {};
    end -= lineBefore(text, end).size() + 1;
  }
  size_t begin = end;
  while (begin > 0 && lineBefore(text, begin).starts_with("#"))
    begin -= lineBefore(text, begin).size() + 1;
  return text.slice(begin, end);
}

std::map<std::string, Source> sourcesOf(llvm::ArrayRef<language::SchemeFile> files) {
  std::map<std::string, Source> sources;
  for (const language::SchemeFile &file : files) {
    llvm::SourceMgr buffers;
    language::Diagnostics diagnostics(buffers, say); // built-in files have been compiled before
    language::Program program;
    language::Parser(file.text, diagnostics).program(program);
    for (const language::Scheme &scheme : program.schemes) {
      size_t name = scheme.name.data() - file.text.data();
      size_t begin = file.text.take_front(name).rfind("scheme");
      size_t end = scheme.end.data() + scheme.end.size() - file.text.data();
      sources[scheme.name.str()] = {file.name, commentAbove(file.text, begin), file.text.slice(begin, end)};
    }
  }
  return sources;
}

/// The schemes that a text names, in an einsum's text too, in order.
std::vector<std::string> namedIn(llvm::StringRef text, const std::map<std::string, Source> &sources) {
  std::vector<std::string> names;
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  while (!(text = text.drop_until(isWord)).empty()) {
    llvm::StringRef word = text.take_while(isWord);
    text = text.drop_front(word.size());
    if (sources.count(word.str()) && text.starts_with("("))
      names.push_back(word.str());
  }
  return names;
}

/// A scheme and, after it, those that it calls.
void printScheme(const std::string &name, const std::map<std::string, Source> &sources) {
  std::list<std::string> left{name};
  std::set<std::string> seen{name};
  llvm::StringRef comment; // that of the one before
  for (; !left.empty(); left.pop_front()) {
    const Source &source = sources.at(left.front());
    if (left.front() != name)
      printed() << "\n";
    if (source.comment.data() != comment.data())
      printed() << source.comment;
    comment = source.comment;
    printed() << source.text << "\n";
    for (const std::string &called : namedIn(source.text, sources))
      if (seen.insert(called).second)
        left.push_back(called);
  }
}

} // namespace

int schemes(const Options &options) {
  if (options.scheme.empty())
    return listAll(), kDone;
  llvm::ArrayRef<language::SchemeFile> files = language::builtinSchemes();
  std::map<std::string, Source> sources = sourcesOf(files);
  if (sources.count(options.scheme))
    return printScheme(options.scheme, sources), kDone;
  std::vector<std::string> names;
  for (const language::SchemeFile &file : files) {
    if (file.name == options.scheme)
      return printed() << file.text, kDone;
    names.push_back(file.name.str());
  }
  for (const auto &[name, source] : sources)
    names.push_back(name);
  // Papers write names their own way: ALiBi.
  std::string lower = llvm::StringRef(options.scheme).lower();
  std::string nearest = llvm::is_contained(names, lower) ? " (did you mean '" + lower + "'?)"
                                                         : language::suggestion(lower, names);
  sayError("there is no built-in scheme '" + options.scheme + "'" + nearest + "; 'skewer schemes' lists them");
  return kWrong;
}

} // namespace skewer::driver
