// The device of the module that replaces the real one: the size of a small GPU, with streams whose
// work happens at random moments.
#include "emulator/device/emulated_runtime.hpp"

namespace {

struct Device {
  Device() { bulksim::emulator::reset_runtime({}, bulksim::emulator::StreamOrder::kShuffled, 3); }
} const device;

}  // namespace
