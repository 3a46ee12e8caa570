/** The start fails because of routes whose access is not declared, or cannot be checked. */
export class RouteAccessMissing extends Error {
  constructor(problems: readonly string[]) {
    super(
      `Every route needs exactly one access decorator (@RequirePermission, @SignedIn, @Public, @AcceptsApiKey, ` +
        `@PartnerKey, @AgentToken):\n${problems.map((problem) => `  - ${problem}`).join('\n')}`,
    );
  }
}
