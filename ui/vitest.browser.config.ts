// Tests in a real browser, on the real binary. Each file starts the servers that it needs.
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    environment: 'node',
    include: ['tests/**/*.browser.ts'],
    fileParallelism: false,
    // Guards against hanging, not promises.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
