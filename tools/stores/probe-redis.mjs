import { converse } from './converse.mjs';

/**
 * Logs in and asks for the version and the eviction policy.
 * @returns {Promise<{ version: string, policy: string | null }>}
 */
export async function probeRedis(url) {
  const { hostname, port, username, password } = new URL(url);
  const login = password
    ? command('AUTH', ...(username ? [decodeURIComponent(username)] : []), decodeURIComponent(password))
    : '';
  const answer = await converse({
    host: hostname,
    port: Number(port || 6379),
    send: login + command('INFO'),
    isComplete: (text) => /^-/m.test(text) || /redis_version:[\s\S]*maxmemory_policy:\S+\r\n/.test(text),
  });
  const version = /redis_version:(\d+\.\d+\.\d+)/.exec(answer)?.[1];
  if (!version) throw new Error(answer.trim().split('\r\n').at(-1).slice(0, 80));
  return { version, policy: /maxmemory_policy:(\S+)/.exec(answer)?.[1] ?? null };
}

function command(...words) {
  return `*${words.length}\r\n${words.map((word) => `$${Buffer.byteLength(word)}\r\n${word}\r\n`).join('')}`;
}
