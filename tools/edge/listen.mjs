import { Failure } from '../failure.mjs';

const TRIES = 100;

/** Listens on 127.0.0.1 at the wished port or at the next free one, and returns it. */
export async function listenNear(server, wishedPort) {
  for (let port = wishedPort; port < wishedPort + TRIES && port < 65_536; port++) {
    if (await listen(server, port)) return server.address().port;
  }
  throw new Failure(`No port from ${wishedPort} to ${wishedPort + TRIES - 1} is free; set FLEET_PORT.`);
}

function listen(server, port) {
  return new Promise((resolve, reject) => {
    const onError = (error) =>
      error.code === 'EADDRINUSE' || error.code === 'EACCES' ? resolve(false) : reject(error);
    server.once('error', onError);
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.off('error', onError);
      resolve(true);
    });
  });
}
