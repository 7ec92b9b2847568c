# The C++ of a page of docs/, as one test: awk -v page=docs/jit.md -v name=jit -f extract.awk jit.md
# CONTRIBUTING.md ("Examples in the docs") says what goes where. A page that holds `int main(` is a
# program, and comes out as it stands.
function flush_block() {
  at = sprintf("#line %d \"%s\"\n", first, page)
  if (global) declarations = declarations at block
  else statements = statements at block
  if (block ~ /(^|\n)int main\(/) { whole = at block; ++programs }
  ++blocks
}
!inside && /^(```|<!-- )cpp( global)?$/ {
  inside = 1; global = / global$/; closing = /^```/ ? "^```$" : "^-->$"; first = NR + 1; block = ""
  next
}
inside && $0 ~ closing { inside = 0; flush_block(); next }
inside { block = block $0 "\n" }
END {
  if (inside) { print page ": a block without an end" > "/dev/stderr"; exit 1 }
  if (programs) {
    if (blocks > 1) { print page ": a program and other blocks" > "/dev/stderr"; exit 1 }
    printf "%s", whole
    exit
  }
  print "#include \"tests/docs/docs.h\"\n\nusing namespace tessera;\n\nnamespace docs_" name " {"
  printf "%s", declarations
  print "TEST_F(Docs, " name ") {"
  printf "%s", statements
  print "}\n}"
}
