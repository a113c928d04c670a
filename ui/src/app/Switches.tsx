// The two choices that reach every page: the time zone and the theme.
import { localZone, THEMES, type Theme, useTheme, useZone } from '@/lib/preferences';

const THEME_WORDS: Record<Theme, string> = { system: 'Theme of the system', light: 'Light theme', dark: 'Dark theme' };

/** Zones besides the reader's own and UTC: the settings take any. */
export function ZoneSwitch() {
  const [zone, setZone] = useZone();
  const choices = [...new Set([localZone(), 'UTC', zone])];
  return (
    <select aria-label="Time zone" value={zone} onChange={event => setZone(event.target.value)}>
      {choices.map(name => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

export function ThemeSwitch() {
  const [theme, setTheme] = useTheme();
  return (
    <select aria-label="Theme" value={theme} onChange={event => setTheme(event.target.value as Theme)}>
      {THEMES.map(name => (
        <option key={name} value={name}>
          {THEME_WORDS[name]}
        </option>
      ))}
    </select>
  );
}
