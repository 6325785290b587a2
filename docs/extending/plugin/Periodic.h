// What the two halves of the plugin know of each other.
#pragma once
#include "tools/plugins/Plugin.h"

/// Whether it is periodic(…, i - j), or of j - i: the function is even.
bool isPeriodicOfOffset(const skewer::attn::Application &, const std::string &query, const std::string &key);

/// SeparableLine.cpp.
std::unique_ptr<skewer::TermStrategy> makeSeparableLines();
