// What the test programs read from their command line.
#pragma once

#include <stdlib.h>
#include <string.h>

// True if `name` (say "--healthy") is among the arguments.
static inline int HasFlag(int argc, char** argv, const char* name) {
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return 1;
  }
  return 0;
}

// The text after `name`, or `otherwise` if it is not given.
static inline const char* TextAfter(int argc, char** argv, const char* name, const char* otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (strcmp(argv[i], name) == 0) return argv[i + 1];
  }
  return otherwise;
}

static inline int NumberAfter(int argc, char** argv, const char* name, int otherwise) {
  const char* text = TextAfter(argc, argv, name, NULL);
  return text ? atoi(text) : otherwise;
}
