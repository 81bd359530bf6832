#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "bulksim/core/tile_grid.hpp"

namespace bulksim {

/// Kinds of work that must come to an end.
enum class Activity {
  kInit,        ///< meeting the other ranks
  kRead,        ///< a call that reads a file
  kTile,        ///< one tile, without the calls on files within
  kWrite,       ///< a call that changes a file
  kCollective,  ///< a look at a message between ranks
};

/// Seconds after which a piece of work counts as stuck.
struct Deadlines {
  double init = 180.0;
  double read = 300.0;
  double tile = 120.0;
  double write = 300.0;
  double collective = 120.0;

  double of(Activity activity) const;
};

/// What a thread is about to do. Texts must live until it is done.
struct Work {
  Activity activity = Activity::kTile;
  const char* call = "";       ///< "pwrite"
  std::string_view path = {};  ///< of the file, or empty
  int descriptor = -1;         ///< of the file, where there is no path
  std::optional<TileId> tile = std::nullopt;
};

/// Where a rank is, for messages.
struct Location {
  std::string phase;  ///< "compute"
  std::string work;   ///< "pwrite '../part-00003.h5'", "the tile in row 3, column 4"
  std::optional<TileId> tile;
};

/// Ends the process when its work is stuck: a call on a file or a tile that takes longer than its
/// deadline, or a main thread around which nothing at all comes to an end. Work within work is
/// watched alone, and the outer begins anew after it.
///
/// Time in which the whole process stood still (a suspended job) does not count. A second thread
/// ends the process when the first is itself stuck.
class Watchdog {
 public:
  /// What happens at the end, on another thread and while the work is still stuck. If it comes back
  /// or takes more than 5 s, the process ends with 69.
  struct ExpiryHandlers {
    std::function<void(const std::string& sentence, const Location& where)> report;
    std::function<void()> end;
  };

  /// Watches the thread that makes it, and the work that any thread announces.
  Watchdog(const Deadlines& deadlines, ExpiryHandlers expiry_handlers);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// Work of this thread, from now to the end of the object.
  class Watch {
   public:
    /// `watchdog` may be null: nobody looks.
    Watch(Watchdog* watchdog, const Work& work);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    /// A step of the work is done: its time begins anew.
    void feed();

   private:
    struct Entry;
    friend class Watchdog;
    Watchdog* watchdog_;
    int exceptions_;
    std::list<Entry>::iterator entry_;
  };

  void begin_phase(const std::string& name);
  /// The work that an exception has ended first; else what goes on for the longest time.
  Location location() const;
  /// Reports what others have found, and ends the process unless it is ended within some seconds.
  [[noreturn]] void expire(const std::string& sentence, double seconds = 0.0);

 private:
  void look(const std::stop_token& stop);
  void guard(const std::stop_token& stop);
  std::optional<std::string> find_stuck() const;
  Location locate(const std::list<Watch::Entry>::const_iterator& entry) const;
  bool is_innermost(const std::list<Watch::Entry>::const_iterator& entry) const;

  Deadlines deadlines_;
  ExpiryHandlers expiry_handlers_;
  double tick_;  // seconds between two looks
  std::thread::id main_ = std::this_thread::get_id();
  mutable std::mutex mutex_;
  std::condition_variable_any never_;
  double now_ = 0.0;            // seconds in which this process has run
  double last_progress_ = 0.0;  // when any work came to its end
  std::string phase_ = "start";
  std::list<Watch::Entry> works_;  // in the order in which they began
  std::optional<Location> failed_;
  std::atomic<std::int64_t> looks_ = 0;
  std::atomic<bool> expiring_ = false;
  std::jthread guard_;
  std::jthread looker_;  // last: it uses everything above
};

}  // namespace bulksim
