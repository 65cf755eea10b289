// The part of dst's command line that is about coherence.
#pragma once

namespace dst {

// Whether the command line asks for it, and what it gives.
bool asks_for_coherence(int argc, char** argv);
int coherence_command(int argc, char** argv);

}  // namespace dst
