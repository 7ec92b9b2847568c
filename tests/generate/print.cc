#include "print.h"

#include <fmt/ostream.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "ops.h"
#include "oracle.h"
#include "tessera/base/namespaces.h"

namespace tessera::generate {

using namespace runtime;

namespace {

std::string braced(const Dims& dims) { return fmt::format("{{{}}}", fmt::join(dims, ", ")); }
std::string quoted(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names)
    out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", name);
  return out;
}
std::string real_number(double x) {
  std::string out = fmt::format("{}", x);
  if (out.find_first_of(".en") == std::string::npos) out += ".0";
  return out;
}

std::string spec_source(const PartitionSpec& spec) {
  std::string out = "P(";
  for (size_t d = 0; d < spec.dims().size(); ++d) {
    const DimSpec& dim = spec.dims()[d];
    if (d > 0) out += ", ";
    if (dim.axes.empty()) {
      out += dim.open ? "UNCONSTRAINED" : "None";
    } else {
      std::vector<std::string> names;
      for (const AxisRef& axis : dim.axes) names.push_back(axis.name);
      out += names.size() == 1 ? "\"" + names[0] + "\"" : "joint(" + quoted(names) + ")";
    }
  }
  return out + ")";
}

std::string attribute(const std::string& field, const Attributes& p) {
  if (field == "i") return fmt::format("{}", p.i);
  if (field == "j") return fmt::format("{}", p.j);
  if (field == "k") return fmt::format("{}", p.k);
  if (field == "f") return real_number(p.f);
  if (field == "flag") return p.flag ? "true" : "false";
  if (field == "dtype") return p.dtype == bool_ ? "bool_" : std::string(dtype_name(p.dtype));
  if (field == "dims") return "Dims" + braced(p.dims);
  if (field == "dims2") return "Dims" + braced(p.dims2);
  if (field == "dims3") return "Dims" + braced(p.dims3);
  if (field == "dims4") return "Dims" + braced(p.dims4);
  if (field == "text") return "\"" + p.text + "\"";
  if (field == "axes") return "std::vector<std::string>{" + quoted(p.axes) + "}";
  if (field == "sharding") return "NamedSharding(mesh, " + spec_source(p.sharding.spec()) + ")";
  TESSERA_CHECK(field == "pairs", "no field {}", field);
  std::string out;
  for (const auto& [from, to] : p.pairs)
    out += fmt::format("{}{{{}, {}}}", out.empty() ? "" : ", ", from, to);
  return "std::vector<std::pair<int, int>>{" + out + "}";
}

std::string var(int id) { return fmt::format("v{}", id); }
std::string list(const std::vector<int>& ids, size_t from = 0, size_t to = 1000) {
  std::string out;
  for (size_t k = from; k < std::min(to, ids.size()); ++k)
    out += (k > from ? ", " : "") + var(ids[k]);
  return "Arrays{" + out + "}";
}

// Returns the expression with operands and attributes in place of their names.
std::string expression(const Node& node) {
  const std::string& text = node.op->text;
  std::string out;
  for (size_t k = 0; k < text.size();) {
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    if (!is_word(text[k])) {
      out += text[k++];
      continue;
    }
    size_t end = k;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string word = text.substr(k, end - k);
    const bool member = k > 0 && text[k - 1] == '.';
    static const std::string names = "xyz";
    if (!member && word == "p" && end < text.size() && text[end] == '.') {
      size_t stop = end + 1;
      while (stop < text.size() && is_word(text[stop])) ++stop;
      out += attribute(text.substr(end + 1, stop - end - 1), node.p);
      k = stop;
      continue;
    }
    if (!member && word.size() == 1 && names.find(word) != std::string::npos) {
      out += var(node.operands[names.find(word)]);
    } else if (!member && word == "list") {
      out += list(node.operands);
    } else {
      out += word;
    }
    k = end;
  }
  return out;
}

class Printer {
 public:
  std::string out;

  void line(int indent, const std::string& text) {
    out += std::string(static_cast<size_t>(indent), ' ') + text + "\n";
  }
  // Writes the statements of a body. Its inputs are the elements of `lists`, one after the other.
  void body(const Program& program, int indent,
            const std::vector<std::pair<std::string, size_t>>& lists) {
    size_t next = 0;
    for (const auto& [name, count] : lists)
      for (size_t k = 0; k < count && next < program.inputs.size(); ++k, ++next)
        line(indent,
             fmt::format("const Array {} = {}[{}];", var(program.inputs[next].id), name, k));
    for (const Node& node : program.nodes) statement(node, indent);
  }
  void lambda(const Program& program, int indent, const std::string& opening,
              const std::string& closing) {
    line(indent, opening + "[&](const Arrays& in) -> Arrays {");
    body(program, indent + 2, {{"in", program.inputs.size()}});
    line(indent + 2, "return " + list(program.outputs) + ";");
    line(indent, "}" + closing);
  }

 private:
  void results(const Node& node, int indent, const std::string& name) {
    for (size_t k = 0; k < node.results.size(); ++k)
      line(indent, fmt::format("const Array {} = {}[{}];", var(node.results[k].id), name, k));
  }

  void statement(const Node& node, int indent) {
    if (node.kind == NodeKind::kOp) {
      line(indent, fmt::format("const Array {} = {};", var(node.results[0].id), expression(node)));
      return;
    }
    const std::string name = fmt::format("r{}", node.results.empty() ? 0 : node.results[0].id);
    const std::string is = fmt::format("const Arrays {} = ", name), in = list(node.operands);
    switch (node.kind) {
      case NodeKind::kOp:
        return;
      case NodeKind::kJit:
        lambda(node.bodies[0], indent, is + "jit(", ")(" + in + ");");
        break;
      case NodeKind::kCheckpoint: {
        static const char* policies[] = {"nothing_saveable", "dots_saveable", "everything_saveable",
                                         "save_only_these_names({\"saved\"})"};
        lambda(node.bodies[0], indent, is + "checkpoint(",
               fmt::format(", checkpoint_policies::{})({});", policies[node.p.k & 3], in));
        break;
      }
      case NodeKind::kCustomVjp:
      case NodeKind::kCustomJvp:
        custom_rule(node, indent, name);
        break;
      case NodeKind::kScan:
        scan(node, indent, name);
        break;
      case NodeKind::kFori:
        fori(node, indent, name);
        break;
      case NodeKind::kWhile:
        while_loop(node, indent, name);
        break;
      case NodeKind::kCond:
        lambda(node.bodies[1], indent, fmt::format("{}cond({}, ", is, var(node.operands[0])), ",");
        lambda(node.bodies[0], indent, "", ", " + list(node.operands, 1) + ");");
        break;
      case NodeKind::kSwitch: {
        line(indent,
             fmt::format("{}switch_({}, std::vector<std::function<Arrays(const Arrays&)>>{{", is,
                         var(node.operands[0])));
        for (const Program& branch : node.bodies) lambda(branch, indent + 4, "", ",");
        line(indent, "}, " + list(node.operands, 1) + ");");
        break;
      }
      case NodeKind::kVmap:
        mapped(node, indent, name);
        break;
      case NodeKind::kShardMap:
        manual(node, indent, name);
        break;
      case NodeKind::kGrad:
        line(indent, is + "grad([&](const Arrays& in) -> Array {");
        body(node.bodies[0], indent + 2, {{"in", node.bodies[0].inputs.size()}});
        line(indent + 2, "return " + var(node.bodies[0].outputs[0]) + ";");
        line(indent, "})(" + in + ");");
        break;
      case NodeKind::kJvp:
        return tangents(node, indent, name);
    }
    results(node, indent, name);
  }

  void custom_rule(const Node& node, int indent, const std::string& name) {
    const std::string is = "const Arrays " + name + " = ";
    const std::string in = list(node.operands);
    const std::string f = "f" + name;
    lambda(node.bodies[0], indent, "const auto " + f + " = ", ";");
    if (node.kind == NodeKind::kCustomVjp) {
      line(indent,
           fmt::format("{}custom_vjp({}, [&](const Arrays& x) {{ return std::pair({}(x), x); }},",
                       is, f, f));
      line(indent + 4, fmt::format("[&](const Arrays& x, const Arrays& ct) {{ return vjp({}, "
                                   "x).second(ct); }})({});",
                                   f, in));
    } else {
      line(indent, fmt::format("{}custom_jvp({}, [&](const std::tuple<Arrays>& x, const "
                               "std::tuple<Arrays>& t) {{",
                               is, f));
      line(indent + 4, fmt::format("return jvp({}, x, t); }})({});", f, in));
    }
  }

  void fori(const Node& node, int indent, const std::string& name) {
    const std::string is = "const Arrays " + name + " = ";
    const std::string in = list(node.operands);
    line(indent,
         fmt::format("{}fori_loop({}, {}, [&](const Array& i, const Arrays& carry) -> Arrays {{",
                     is, node.p.i, node.p.j));
    line(indent + 2,
         fmt::format("const Array {} = astype(i, int32);", var(node.bodies[0].inputs[0].id)));
    for (size_t k = 1; k < node.bodies[0].inputs.size(); ++k)
      line(indent + 2,
           fmt::format("const Array {} = carry[{}];", var(node.bodies[0].inputs[k].id), k - 1));
    for (const Node& inner : node.bodies[0].nodes) statement(inner, indent + 2);
    line(indent + 2, "return " + list(node.bodies[0].outputs) + ";");
    line(indent, "}, " + in + ");");
  }

  void while_loop(const Node& node, int indent, const std::string& name) {
    const std::string is = "const Arrays " + name + " = ";
    line(indent, fmt::format("const Arrays w{} = while_loop([](const Arrays& c) {{ return c[0] "
                             "< c[1]; }}, [&](const Arrays& c) -> Arrays {{",
                             name));
    body(node.bodies[0], indent + 2, {{"c", node.bodies[0].inputs.size()}});
    std::string next = "c[0] + 1, c[1]";
    for (int id : node.bodies[0].outputs) next += ", " + var(id);
    line(indent + 2, "return {" + next + "};");
    std::string init = "astype(0, int32)";
    for (int id : node.operands) init += ", " + var(id);
    line(indent, "}, Arrays{" + init + "});");
    line(indent, fmt::format("{}Arrays(w{}.begin() + 2, w{}.end());", is, name, name));
  }

  void mapped(const Node& node, int indent, const std::string& name) {
    const std::string is = "const Arrays " + name + " = ";
    const std::string in = list(node.operands);
    std::string axes;
    for (int axis : node.in_axes)
      axes +=
          (axes.empty() ? "" : ", ") + (axis < 0 ? std::string("None") : fmt::format("{}", axis));
    const std::string named =
        node.axis_name.empty() ? "" : fmt::format(", .axis_name = \"{}\"", node.axis_name);
    lambda(node.bodies[0], indent, is + "vmap(",
           fmt::format(", {{.in_axes = {{std::vector<PrefixTree<MappedAxis>>{{{}}}}}{}}})({});",
                       axes, named, in));
  }

  void manual(const Node& node, int indent, const std::string& name) {
    const std::string is = "const Arrays " + name + " = ";
    const std::string in = list(node.operands);
    const auto specs = [](const std::vector<PartitionSpec>& all) {
      std::string text;
      for (const PartitionSpec& spec : all) text += (text.empty() ? "" : ", ") + spec_source(spec);
      return "{std::vector<PrefixTree<PartitionSpec>>{" + text + "}}";
    };
    lambda(node.bodies[0], indent, is + "shard_map(",
           fmt::format(", {{.mesh = mesh, .in_specs = {}, .out_specs = {}, .axis_names = "
                       "{{{}}}, .check_vma = {}}})({});",
                       specs(node.in_specs), specs(node.out_specs), quoted(node.manual_axes),
                       node.check_vma ? "true" : "false", in));
  }

  void tangents(const Node& node, int indent, const std::string& name) {
    const size_t half = node.operands.size() / 2;
    lambda(node.bodies[0], indent, fmt::format("const auto t{} = jvp(", name),
           fmt::format(", std::tuple({}), std::tuple({}));", list(node.operands, 0, half),
                       list(node.operands, half)));
    const size_t count = node.results.size() / 2;
    for (size_t k = 0; k < node.results.size(); ++k)
      line(indent, fmt::format("const Array {} = t{}.{}[{}];", var(node.results[k].id), name,
                               k < count ? "first" : "second", k % count));
  }

  void scan(const Node& node, int indent, const std::string& name) {
    const auto carries = static_cast<size_t>(node.p.i);
    const Program& step = node.bodies[0];
    line(indent, fmt::format("const auto {} = scan([&](const Arrays& carry, const Arrays& x) {{",
                             "s" + name));
    body(step, indent + 2, {{"carry", carries}, {"x", step.inputs.size()}});
    line(indent + 2, fmt::format("return std::pair({}, {});", list(step.outputs, 0, carries),
                                 list(step.outputs, carries)));
    line(indent, fmt::format("}}, {}, {}, {{.length = {}, .reverse = {}}});",
                             list(node.operands, 0, carries), list(node.operands, carries),
                             node.p.j, node.p.flag));
    line(indent, fmt::format("Arrays {} = s{}.first;", name, name));
    line(indent, fmt::format("{}.insert({}.end(), s{}.second.begin(), s{}.second.end());", name,
                             name, name, name));
  }
};

std::string literal_source(const Literal& x) {
  std::string values;
  const DType dtype = x.dtype();
  for (const auto& z : numbers(x)) {
    if (!values.empty()) values += ", ";
    if (is_complex(dtype)) {
      values += fmt::format("{{{}, {}}}", z.real(), z.imag());
    } else if (is_floating(dtype)) {
      values += real_number(z.real());
    } else {
      values += fmt::format("{}", static_cast<int64_t>(z.real()));
    }
  }
  const char* element = is_complex(dtype)    ? "std::complex<double>"
                        : is_floating(dtype) ? "double"
                                             : "int64_t";
  return fmt::format("astype(from_host(std::vector<{}>{{{}}}, Shape{}), {})", element, values,
                     braced(x.shape()), dtype == bool_ ? "bool_" : dtype_name(dtype));
}

}  // namespace

std::string function_source(const Case& c, int indent) {
  Printer printer;
  printer.lambda(c.main, indent, "const auto f = ", ";");
  return printer.out;
}

std::string program_source(const Case& c, const Difference& difference) {
  const bool derives = difference.check.find("grad") != std::string::npos ||
                       difference.check == "checkpoint" || difference.check == "jvp" ||
                       difference.check == "hvp";
  const bool in_its_dtypes = difference.check == "grad_dtypes";
  const Case shown = derives && !in_its_dtypes ? widened(c) : c;
  Printer printer;
  std::string comment = difference.text;
  for (size_t at = 0; (at = comment.find('\n', at)) != std::string::npos; at += 4)
    comment.replace(at, 1, "\n// ");
  printer.line(0, fmt::format("// seed {}, {}: {}", c.seed, difference.check, comment));
  printer.line(0,
               "#include <tessera/tessera.h>\n\n#include <iostream>\n\nusing namespace "
               "tessera;\nusing Arrays = std::vector<Array>;\n");
  printer.line(0, "int main() {\n  initialize({.devices = \"cpu:8\"});\n  enable_x64(true);");
  if (!c.axis_sizes.empty())
    printer.line(2,
                 fmt::format("const Mesh mesh(create_device_mesh({}, {{.devices = "
                             "{{devices().begin(), devices().begin() + {}}}}}), {{{}}});",
                             braced(c.axis_sizes), c.axis_sizes.elements(), quoted(c.axis_names)));
  printer.lambda(shown.main, 2, "const auto f = ", ";");
  printer.line(2, "Arrays args;");
  const Literals args = make_arguments(c);
  const bool placed = !c.axis_sizes.empty() &&
                      (in_its_dtypes || difference.check.find("sharded") != std::string::npos);
  for (size_t k = 0; k < args.size(); ++k) {
    Literal value = args[k];
    std::string source = literal_source(value);
    const DType dtype = shown.main.inputs[k].type.dtype;
    if (dtype != value.dtype()) source = fmt::format("astype({}, {})", source, dtype_name(dtype));
    if (placed)
      source = fmt::format("device_put({}, NamedSharding(mesh, {}))", source,
                           spec_source(c.placements[k]));
    printer.line(2, "args.push_back(" + source + ");");
  }
  if (derives) {
    printer.line(2, "// The loss that is differentiated; by all inexact arguments.");
    printer.line(2,
                 "const auto loss = [&](const Arrays& x) {\n    Array total = 0.0;\n    double "
                 "shift = 0;\n    for (const Array& y : f(x)) {");
    printer.line(6,
                 "if (!is_inexact(y.dtype())) continue;\n      shift += 0.3;\n      total = total "
                 "+ sum(sin(real(y) + shift));");
    printer.line(6,
                 "if (is_complex(y.dtype())) total = total + sum(cos(imag(y) - shift));\n    }\n   "
                 " return total;\n  };");
    printer.line(2, "for (const Array& g : jit(grad(loss))(args)) std::cout << g << \"\\n\";");
  } else {
    printer.line(2, "for (const Array& y : jit(f)(args)) std::cout << y << \"\\n\";");
  }
  printer.line(0, "}");
  return printer.out;
}

}  // namespace tessera::generate
