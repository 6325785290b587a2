// One way to lay out a specification: spaces, indentation, alignment. Lines stay as they were broken.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include <optional>
#include <string>

namespace skewer::language {

/// The text of the main buffer of `sources`, laid out:
///   - two spaces for each open brace; what goes on in parentheses or brackets stands below their first element;
///   - one space around `=`, `:` of a type, comparisons and words; none inside parentheses, before commas, around `^`
///     and the `:` of a slice. Around + - * / // % there is a space on both sides or on none, as written;
///   - the `=` of statements on neighbouring lines and comments behind neighbouring lines stand in one column; so does
///     the `:` of operands below each other where one of them was moved there by more than a space;
///   - at most one empty line, none at either end of the file or of a block, no space at the end of a line.
/// Tokens, comments and the ends of lines are those of the text, in the same order, which is all that its meaning
/// depends on; texts in quotes are not touched. Nothing after errors, which go to `diagnostics`.
std::optional<std::string> formatted(llvm::SourceMgr &sources, DiagnosticSink diagnostics);

/// The words with a meaning of their own, each where the grammar has it: what editors colour.
llvm::ArrayRef<llvm::StringLiteral> keywords();

} // namespace skewer::language
