# Turns a header's comments into those that Doxygen reads, on the way to it (INPUT_FILTER). The rule is the one that readers
# of the header follow: what stands at its head describes the file; a comment describes all the declarations below it up to
# the next empty line; what follows a declaration on its line is about that one; what has neither, the head speaks for.

function indent(line) { match(line, /^ */); return RLENGTH }

# Friends are not documented where they are only declared; Doxygen would link to a heading that is not there.
/^ *friend .*\);$/ { next }

# A line of a comment's text, after `prefix`: what is indented below an empty line or a colon is code, and what stands in angle
# brackets elsewhere is no markup.
function text(prefix, line,   out) {
  deep = match(line, /[^ ]/) - 1
  if (!code && deep >= 2 && before ~ /(^|:)$/ && line !~ /^ *- /) {
    out = prefix "\\code\n"
    code = deep
  } else if (code && deep >= 0 && deep < code) {
    out = prefix "\\endcode\n"
    code = 0
  }
  before = line
  if (!code) { gsub(/</, "\\<", line); gsub(/\]\(/, "] (", line) }  # neither markup nor a link
  return out prefix line "\n"
}
function end_of_text(prefix,   was) {
  was = code
  code = 0
  before = ""
  return was ? prefix "\\endcode\n" : ""
}

# The comment that holds for the declaration on this line.
function describe(line) {
  if (described != "" && depth == indent(line)) {
    printf "%s", described
  } else if (line ~ /operator==.*= default;/) {
    print "/// Returns whether all members are equal."
  } else if (indent(line) == 0 && line !~ /^(namespace|extern|class [A-Za-z]+;|struct [A-Za-z]+;)/) {
    print "/// " heading
  }
}

FNR == 1 { head = 1; heading = described = ""; within = ended = private = hidden = 0; print "/** \\file" }
head && /^\/\// {
  sub(/^\/\/ ?/, "")
  printf "%s", text(" * ", $0)
  if (!ended) heading = heading (heading == "" ? "" : " ") $0  # its first sentence
  if ($0 ~ /[.]( |$)|^$/) ended = 1
  if (match(heading, /[.] /)) heading = substr(heading, 1, RSTART)
  next
}
head { head = 0; printf "%s", end_of_text(" * "); print " */" }

/^ *$/ { end_of_text(""); described = ""; within = 0; print; next }
/^ *\/\// {
  if (!within) { described = ""; depth = indent($0) }
  within = 1
  match($0, /\/\/ ?/)
  described = described text(substr($0, 1, RSTART - 1) "/// ", substr($0, RSTART + RLENGTH))
  next
}
{
  started = !open
  if (within) described = described end_of_text(substr($0, 1, indent($0)) "/// ")
  within = 0
  line = $0
  sub(/friend bool operator==/, "bool operator==", line)  # Doxygen links to such a friend and does not describe it
  # Doxygen leaves private classes out, and links to a list of them all the same.
  if (line ~ /^ *(public|private|protected):/) private = line ~ /private/
  if (line ~ /^};/) private = 0
  if (private && !hidden && line ~ /^ *(struct|class) .*[^;]$/) { print "/// \\cond"; hidden = indent(line) }
  if (line ~ /[^:"]\/\/ /) sub(/\/\/ /, "///< ", line)
  if (started && line !~ /^ *[#}]/ && line !~ /^ *(public|private|protected):/) describe(line)
  print line
  if (hidden && indent(line) == hidden && line ~ /^ *};/) { print "/// \\endcond"; hidden = 0 }
  # A declaration goes on while its line does not end it.
  sub(/ *\/\/.*/, "", line)
  open = (line !~ /[;{}:>]$/ || line ~ /^ *template .*>$/) && line !~ /^ *#/ && line != ""
}
