"""Device memory: buffers, guard zones, address ranges."""
