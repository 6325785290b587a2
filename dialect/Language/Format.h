// The formatter's layout of a specification: spaces, indentation, alignment. It keeps the line breaks.
#pragma once
#include "dialect/Language/Diagnostic.h"
#include <optional>
#include <string>

namespace skewer::language {

/// Returns the text of the main buffer of `sources` in this layout:
///   - two spaces for each open brace; text that continues in parentheses or brackets stands below their first element;
///   - one space around `=`, `:` of a type, comparisons and words; none inside parentheses, before commas, around `^`
///     and the `:` of a slice. Around + - * / // % there is a space on both sides or on neither, as written;
///   - the `=` of statements on neighbouring lines, and comments behind neighbouring lines, stand in one column; so
///     does the `:` of operands below each other if one of them was moved there by more than a space;
///   - at most one empty line, none at either end of the file or of a block, no space at the end of a line.
/// The layout keeps the tokens, the comments and the line ends in the same order; the meaning of a specification
/// depends on nothing else. Strings in quotes are not touched. Nothing after errors, which go to `diagnostics`.
std::optional<std::string> formatted(llvm::SourceMgr &sources, DiagnosticSink diagnostics);

/// Returns the words that have a meaning of their own, each only where the grammar has it. Editors colour them.
llvm::ArrayRef<llvm::StringLiteral> keywords();

} // namespace skewer::language
