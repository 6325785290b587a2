/* libskewer beside a compiled kernel's header. */
#include "relative.h"
#include <skewer.h>
#include <stdio.h>
#include <string.h>

int main(void) {
  skewer_request request = skewer_request_init();
  skewer_answer *answer;
  int wrong;
  request.text = "kernel twice(q : f32[4]) -> f32[4] { return q + q }";
  answer = skewer_compile(&request);
  wrong = skewer_answer_status(answer) != SKEWER_ANSWER_DONE || skewer_answer_file_count(answer) != 3;
  fputs(skewer_answer_messages(answer), stderr);
  skewer_answer_free(answer);
  wrong |= skewer_library_api_version() != SKEWER_LIBRARY_API_VERSION || relative_phases() < 1;
  return wrong;
}
