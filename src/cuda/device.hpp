#pragma once

#include <cstdint>
#include <string>

#include "core/run/kernel_log.hpp"
#include "cuda/check.hpp"

namespace bulksim::cuda {

/// The CUDA device of this process, chosen by its rank on the node.
class Device {
 public:
  /// Takes device `node_rank` modulo the number of visible devices; throws Error (69) when there is
  /// none.
  explicit Device(int node_rank) {
    int count = 0;
    const cudaError_t status = cudaGetDeviceCount(&count);
    if (status == cudaErrorInsufficientDriver || status == cudaErrorNoDevice || count == 0) {
      static_cast<void>(cudaGetLastError());
      throw Error(ExitCode::kUnavailable,
                  "no CUDA device is available: " + std::string(cudaGetErrorString(status)));
    }
    check(status, "count the CUDA devices");
    ordinal_ = node_rank % count;
    use();
    check(cudaGetDeviceProperties(&properties_, ordinal_), "read the properties of the device");
    check(cudaDeviceGetPCIBusId(pci_, sizeof pci_, ordinal_), "read the PCI id of the device");
  }

  /// Selects this device for the calling thread.
  void use() const { check(cudaSetDevice(ordinal_), "select the device"); }

  std::string name() const { return properties_.name; }
  /// "GPU-6e23b3d4-...", as nvidia-smi prints it.
  std::string uuid() const {
    static constexpr char kDigits[] = "0123456789abcdef";
    std::string text = "GPU-";
    for (int i = 0; i < 16; ++i) {
      if (i == 4 || i == 6 || i == 8 || i == 10) text += '-';
      const auto byte = static_cast<unsigned char>(properties_.uuid.bytes[i]);
      text += kDigits[byte / 16];
      text += kDigits[byte % 16];
    }
    return text;
  }
  /// Name, UUID and PCI id, for error messages.
  std::string description() const { return name() + " (" + uuid() + ", PCI " + pci_ + ")"; }
  /// "0000:3b:00", as the driver writes it to the kernel log.
  std::string slot() const {
    const std::string id = pci_;
    return id.substr(0, id.rfind('.'));
  }
  int multiprocessors() const { return properties_.multiProcessorCount; }
  /// Largest shared memory per block, in bytes.
  std::int64_t shared_per_block() const { return properties_.sharedMemPerBlockOptin; }
  std::int64_t l2_bytes() const { return properties_.l2CacheSize; }
  std::int64_t free_bytes() const {
    std::size_t available = 0;
    std::size_t total = 0;
    check(cudaMemGetInfo(&available, &total), "query the free device memory");
    return available;
  }

 private:
  int ordinal_ = 0;
  cudaDeviceProp properties_{};
  char pci_[32] = {};
};

/// The error for the user: the device, the driver's message, and what to do. This process does not
/// use a device again after it has failed.
inline Error device_error(const CallError& error, const Device& device) {
  const std::string sentence = std::string(error.what()) + " on " + device.description();
  if (error.code() == ExitCode::kMemory) {
    return {error.code(), sentence + "; free device memory, or choose a smaller --tile"};
  }
  const std::string driver = last_kernel_message({"Xid", device.slot()});
  return {error.code(), sentence + (driver.empty() ? "" : "; the driver reports '" + driver + "'") +
                            "; run the same command again; if it fails again, take the device out "
                            "of service (nvidia-smi -q shows its state)"};
}

/// Runs `body` with `device` selected and adds the device to its errors.
template <class Body>
void on_device(const Device& device, Body body) {
  try {
    device.use();
    body();
  } catch (const CallError& error) {
    throw device_error(error, device);
  }
}

}  // namespace bulksim::cuda
