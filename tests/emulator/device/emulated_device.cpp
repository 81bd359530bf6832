// The device of the module that stands in for the real one: as large as a small GPU, with streams
// whose work happens at random moments.
#include "emulator/device/emulated_runtime.hpp"

namespace {

struct Device {
  Device() { bulksim::emulator::reset_runtime({}, bulksim::emulator::StreamOrder::kShuffled, 3); }
} const device;

}  // namespace
