/** True when a rough figure after a few seconds is enough: `./fleet bench <name> --quick`. */
export const isQuick = process.argv.includes('--quick');
