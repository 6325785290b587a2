// Declares what the two halves of the plugin use of each other.
#pragma once
#include "tools/plugins/Plugin.h"

/// Returns whether an application is periodic(…, i - j), or of j - i: the function is even.
bool isPeriodicOfOffset(const skewer::attn::Application &, const std::string &query, const std::string &key);

/// Returns the strategy for such terms (SeparableLine.cpp).
std::unique_ptr<skewer::TermStrategy> makeSeparableLines();
