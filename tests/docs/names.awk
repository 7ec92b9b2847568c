# A test that every name in the last column of a page's tables exists: awk -v name=NAME -f names.awk PAGE
# A name stands in backticks and is an identifier, of the namespace tessera or of those in it.
BEGIN {
  print "#include \"tests/docs/docs.h\"\n"
  print "TEST_F(Docs, names_of_" name ") {"
}
/^## Names/ { listed = 1 }
/^## / && !/^## Names/ { listed = 0 }
listed && /^\| / {
  count = split($0, columns, "|")
  last = columns[count - 1]
  while (match(last, /`[A-Za-z_][A-Za-z_0-9:]*`/)) {
    word = substr(last, RSTART + 1, RLENGTH - 2)
    last = substr(last, RSTART + RLENGTH)
    print "  {\n#line " FNR " \"" FILENAME "\"\n    using tessera::" word ";\n  }"
    ++names
  }
}
END { print "  EXPECT_GT(" names + 0 ", 0);\n}" }
