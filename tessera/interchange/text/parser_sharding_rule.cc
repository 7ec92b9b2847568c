// Parses Shardy's sharding rules, which say which dimensions of a custom call's operands and
// results correspond. Example, for a matrix product:
//   #sdy.op_sharding_rule<([i, k], [k, j])->([i, j]) {i=4, j=8, k=2} reduction={k}, custom>
#include <cctype>

#include "tessera/interchange/text/parser_internal.h"

namespace tessera::interchange {
namespace {

// Returns the numbers of the factors in a word, as Shardy names them: i to z, then z_1, z_2, ...
// Returns nothing if the word contains anything else.
std::vector<int64_t> factors_in(std::string_view word) {
  std::vector<int64_t> out;
  for (size_t at = 0; at < word.size();) {
    const char letter = word[at++];
    if (letter < 'i' || letter > 'z') return {};
    int64_t factor = letter - 'i';
    if (at < word.size() && word[at] == '_') {
      int64_t number = 0;
      const size_t first = ++at;
      for (; at < word.size() && std::isdigit(word[at]) && number < 1000; ++at)
        number = number * 10 + (word[at] - '0');
      if (letter != 'z' || at == first) return {};
      factor += number;
    }
    out.push_back(factor);
  }
  return out;
}

}  // namespace

// Returns the same form as Decoder::sharding_rule().
TextAttr Parser::parse_sharding_rule() {
  TextAttr::Record rule{"sdy.op_sharding_rule", {}};
  TextAttr::Array sizes;
  const auto factors = [&] {
    const Token word = expect(TokenKind::kWord, "factors, as ij");
    std::vector<int64_t> out = factors_in(word.text);
    if (out.empty()) lexer_.error(word.begin, "expected factors i to z, z_1, z_2, ...");
    return out;
  };
  const auto tensors = [&] {
    TextAttr::List out;
    expect("(");
    while (!accept(")")) {
      if (!out.items.empty()) expect(",");
      TextAttr::List dims;
      expect("[");
      while (!accept("]")) {
        if (!dims.items.empty()) expect(",");
        dims.items.emplace_back(TextAttr::Array{factors()});
      }
      out.items.emplace_back(std::move(dims));
    }
    return out;
  };
  const auto list_of_factors = [&] {
    TextAttr::Array out;
    expect("{");
    while (!accept("}")) {
      if (!out.values.empty()) expect(",");
      out.values.push_back(factors()[0]);
    }
    return out;
  };
  expect("<");
  TextAttr operands = tensors();
  expect("->");
  TextAttr results = tensors();
  if (accept("{")) {
    while (!accept("}")) {
      if (!sizes.values.empty()) expect(",");
      const size_t factor = static_cast<size_t>(factors()[0]);
      expect("=");
      if (sizes.values.size() <= factor) sizes.values.resize(factor + 1, 1);
      sizes.values[factor] = parse_int();
    }
  }
  rule.entries.emplace_back("sizes", std::move(sizes));
  rule.entries.emplace_back("operands", std::move(operands));
  rule.entries.emplace_back("results", std::move(results));
  while (!accept(">")) {
    accept(",");
    const Token key =
        expect(TokenKind::kWord, "reduction, need_replication, permutation or custom");
    if (key.text == "custom") continue;
    expect("=");
    rule.entries.emplace_back(key.text, list_of_factors());
  }
  return rule;
}

}  // namespace tessera::interchange
