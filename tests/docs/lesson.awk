# What a page with a program beside it claims: awk [-v want=WHAT] -f lesson.awk PAGE SOURCE
#
# Without `want` it compares the page's blocks fenced with ```cpp with the program. Every line of the blocks stands in the
# program, in the same order and without regard to indentation, and the program has no other lines than those that every
# program has. It names the first line that differs, and exits with 1.
#
# With `want` it prints the lines of the page's blocks fenced with ```output: of those without a name (want=-), or of those
# that stand right after a comment `<!-- output: NAME -->` (want=NAME).
BEGIN { name = "-" }
function trim(line) { sub(/^[ \t]+/, "", line); sub(/[ \t]+$/, "", line); return line }
# What a reader has seen in the first lesson: heads of files, the frame of main, and comments.
function framing(line) {
  return line ~ /^(\/\/|#include |using namespace tessera;$|namespace [a-z_]* ?\{$|int main\(.*\) (try )?\{$|return 0;$|\}$)/
}
FNR == NR && fence == "" && /^```(cpp|output)$/ { fence = substr($0, 4); named = name; name = "-"; next }
FNR == NR && fence != "" && /^```$/ { fence = ""; next }
FNR == NR && fence == "output" { if (want == named) print; next }
FNR == NR && fence == "cpp" { if (trim($0) != "") { shown[++count] = trim($0); at[count] = FNR }; next }
FNR == NR && /^<!-- output: .* -->$/ { name = $3; next }
FNR == NR { if ($0 != "") name = "-"; next }
want != "" { exit }
{
  line = trim($0)
  if (line == "") next
  if (next_shown < count && line == shown[next_shown + 1]) { ++next_shown; next }
  if (framing(line)) next
  printf "%s:%d: the page does not show this line next; it shows (line %d): %s\n%s\n", FILENAME, FNR,
         at[next_shown + 1], shown[next_shown + 1], line > "/dev/stderr"
  failed = 1
  exit
}
END {
  if (want != "" || failed) exit failed
  if (count == 0) { print ARGV[1] ": no block of C++" > "/dev/stderr"; exit 1 }
  if (next_shown < count) {
    printf "%s:%d: the program lacks: %s\n", ARGV[1], at[next_shown + 1], shown[next_shown + 1] > "/dev/stderr"
    exit 1
  }
}
