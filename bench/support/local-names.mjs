// Loaded with --import by a process that sends: names are resolved by the name server of the benchmark instead of
// the operating system, which would need a line in /etc/hosts for each.
import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';

const resolver = new dns.promises.Resolver();
resolver.setServers([process.env.BENCH_NAME_SERVER]);

const lookup = async (host) => (await resolver.resolve4(host)).map((address) => ({ address, family: 4 }));
dns.promises.lookup = lookup;
dns.lookup = (host, options, callback) => {
  const done = (found) => (options.all ? callback(null, found) : callback(null, found[0].address, found[0].family));
  lookup(host).then(done, callback);
};
syncBuiltinESMExports();
