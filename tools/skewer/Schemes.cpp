// `skewer schemes`: lists the built-in schemes that users call, with operands and descriptions; for one scheme, prints
// its source.
#include "dialect/Language/Diagnostics.h"
#include "dialect/Language/Language.h"
#include "dialect/Language/Parser.h"
#include "tools/skewer/Commands.h"
#include "tools/skewer/Messages.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <list>
#include <set>

namespace skewer::driver {
namespace {

/// A built-in scheme that users call: a line "#: …" above it describes it. The other schemes are parts of these.
struct Listed {
  llvm::StringRef file, name, about;
  std::string signature;
};

/// Returns the text between the word `scheme` and the definition:
/// "rel1d(q : [b, h, i, d], table : [r, d]) -> [b, h, i, j]".
std::string signatureOf(const language::Scheme &scheme) {
  std::string signature = scheme.name.str() + "(";
  for (const language::SchemeOperand &operand : scheme.operands) {
    signature += (&operand == &scheme.operands[0] ? "" : ", ") + operand.name.str();
    if (operand.isTensor)
      signature += " : [" + llvm::join(operand.axes, ", ") + "]";
    else if (!operand.pattern.empty())
      signature += " = (" + llvm::join(operand.pattern, ", ") + ")";
    else if (operand.defaultValue)
      signature += " = " + operand.defaultValue->text.str();
  }
  signature += ")";
  return scheme.resultText.empty() ? signature : signature + " " + scheme.resultText.str();
}

std::vector<Listed> listed() {
  std::vector<Listed> all;
  for (const language::SchemeFile &file : language::builtinSchemes()) {
    llvm::SourceMgr buffers;
    language::Diagnostics diagnostics(buffers, say); // no errors: built-in files have been compiled before
    language::Program program;
    language::Parser(file.text, diagnostics).program(program);
    for (const language::Scheme &scheme : program.schemes) {
      llvm::StringRef before = file.text.take_front(scheme.name.data() - file.text.data()).rtrim();
      before.consume_back("scheme");
      before = before.rtrim();
      llvm::StringRef line = before.take_back(before.size() - (before.rfind('\n') + 1));
      if (line.consume_front("#: "))
        all.push_back({file.name, scheme.name, line, signatureOf(scheme)});
    }
  }
  return all;
}

void listAll() {
  llvm::StringRef file;
  for (const Listed &scheme : listed()) {
    if (scheme.file != file)
      printed() << (file.empty() ? "" : "\n") << scheme.file << "\n";
    file = scheme.file;
    printed() << "  scheme " << scheme.signature << "\n      " << scheme.about << "\n";
  }
}

void listJson() {
  llvm::json::Array all;
  for (const Listed &scheme : listed())
    all.push_back(llvm::json::Object{
        {"name", scheme.name}, {"signature", scheme.signature}, {"about", scheme.about}, {"file", scheme.file}});
  printed() << llvm::formatv("{0:2}", llvm::json::Value(std::move(all))) << "\n";
}

/// The source of a built-in scheme: its text from the word `scheme` to its end, and the comment above it.
struct Source {
  llvm::StringRef file, comment, about, text; // about: its line "#: …", if it has one
};

/// Returns the line before the one that begins at `at`.
llvm::StringRef lineBefore(llvm::StringRef text, size_t at) {
  if (at == 0)
    return {};
  size_t begin = text.take_front(at - 1).rfind('\n');
  begin = begin == llvm::StringRef::npos ? 0 : begin + 1;
  return text.slice(begin, at - 1);
}

/// Returns the comment lines above a definition; definitions without blank lines between them share one comment.
llvm::StringRef commentAbove(llvm::StringRef text, size_t definition) {
  auto isComment = [](llvm::StringRef line) { return line.starts_with("#") && !line.starts_with("#:"); };
  size_t end = definition;
  while (end > 0 && !isComment(lineBefore(text, end))) {
    if (lineBefore(text, end).trim().empty())
      return {};
    end -= lineBefore(text, end).size() + 1;
  }
  size_t begin = end;
  while (begin > 0 && isComment(lineBefore(text, begin)))
    begin -= lineBefore(text, begin).size() + 1;
  return text.slice(begin, end);
}

std::map<std::string, Source> sourcesOf(llvm::ArrayRef<language::SchemeFile> files) {
  std::map<std::string, Source> sources;
  for (const language::SchemeFile &file : files) {
    llvm::SourceMgr buffers;
    language::Diagnostics diagnostics(buffers, say); // no errors: built-in files have been compiled before
    language::Program program;
    language::Parser(file.text, diagnostics).program(program);
    for (const language::Scheme &scheme : program.schemes) {
      size_t name = scheme.name.data() - file.text.data();
      size_t begin = file.text.take_front(name).rfind("scheme");
      size_t end = scheme.end.data() + scheme.end.size() - file.text.data();
      llvm::StringRef before = lineBefore(file.text, begin);
      llvm::StringRef about = before.starts_with("#:") ? before : llvm::StringRef();
      sources[scheme.name.str()] = {file.name, commentAbove(file.text, begin), about, file.text.slice(begin, end)};
    }
  }
  return sources;
}

/// Returns the schemes that a text calls, also inside an einsum's text, in order.
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

/// Prints a scheme and then the schemes that it calls.
void printScheme(const std::string &name, const std::map<std::string, Source> &sources) {
  std::list<std::string> left{name};
  std::set<std::string> seen{name};
  llvm::StringRef comment; // of the previous scheme
  for (; !left.empty(); left.pop_front()) {
    const Source &source = sources.at(left.front());
    if (left.front() != name)
      printed() << "\n";
    if (source.comment.data() != comment.data())
      printed() << source.comment;
    comment = source.comment;
    printed() << source.about << (source.about.empty() ? "" : "\n") << source.text << "\n";
    for (const std::string &called : namedIn(source.text, sources))
      if (seen.insert(called).second)
        left.push_back(called);
  }
}

} // namespace

int schemes(const Options &options) {
  if (options.scheme.empty())
    return options.json ? listJson() : listAll(), kDone;
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
  // Papers use capitals in names, such as ALiBi.
  std::string lower = llvm::StringRef(options.scheme).lower();
  std::string nearest = llvm::is_contained(names, lower) ? " (did you mean '" + lower + "'?)"
                                                         : language::suggestion(lower, names);
  sayError("there is no built-in scheme '" + options.scheme + "'" + nearest + "; 'skewer schemes' lists them");
  return kWrong;
}

} // namespace skewer::driver
