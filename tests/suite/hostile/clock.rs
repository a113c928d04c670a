//! Clocks that jump: signatures, cron, timers and retention follow the real clock.
