// How the web interface is built: hashed files under `dist/assets`, nothing inline, so that a strict policy holds.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

// The server refuses requests of pages of another origin, so the development server speaks in its own name.
const server = process.env.SPRAG_SERVER ?? 'http://127.0.0.1:7400';
const forward = { target: server, changeOrigin: true, headers: { origin: server } };

export default defineConfig({
  plugins: [react()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  server: { proxy: { '/v1': forward, '/errors': forward, '/api': forward, '/readyz': forward } },
  build: {
    target: 'es2022',
    // The folder itself is part of the repository: the server embeds it, built or not.
    emptyOutDir: false,
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      onLog(level, log, handler) {
        // Libraries mark files for servers that render; here is none.
        if (log.code !== 'MODULE_LEVEL_DIRECTIVE') handler(level, log);
      },
    },
  },
});
