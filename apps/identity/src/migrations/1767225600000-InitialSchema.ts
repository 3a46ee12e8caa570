import type { MigrationInterface, QueryRunner } from 'typeorm';

/** True for the platform login alone, which acts as the service login: no setting makes a service login see all tenants. */
const IS_PLATFORM_LOGIN = '(SELECT session_user <> current_user)';

/** The caller's tenant, from the transaction-local settings. An unset or empty setting matches no row. */
const OWN_PARTNER = `(SELECT nullif(current_setting('rmm.partner_id', true), '')::uuid)`;
const OWN_ORGANIZATION = `(SELECT nullif(current_setting('rmm.org_id', true), '')::uuid)`;
const OWN_USER = `(SELECT nullif(current_setting('rmm.user_id', true), '')::uuid)`;

/** Conditions by the caller's scope; any other scope matches no row. */
const byScope = (partner: string, organization: string): string => `
  CASE (SELECT current_setting('rmm.scope', true))
    WHEN 'partner' THEN ${partner}
    WHEN 'organization' THEN ${organization}
    WHEN 'system' THEN ${IS_PLATFORM_LOGIN}
    ELSE false
  END`;

/** Organizations a partner member has access to. */
const ACCESSIBLE_ORGANIZATION = `
  CASE (SELECT current_setting('rmm.org_access', true))
    WHEN 'all' THEN true
    WHEN 'selected' THEN uuid_send(org_id) IN (
      SELECT decode(unnest(string_to_array(current_setting('rmm.org_ids', true), ',')), 'hex'))
    ELSE false
  END`;

/** Rows of one organization, of the partner as a whole, of one user. */
const ORGANIZATION = byScope(
  `partner_id = ${OWN_PARTNER} AND (${ACCESSIBLE_ORGANIZATION})`,
  `org_id = ${OWN_ORGANIZATION}`,
);
const PARTNER = byScope(`partner_id = ${OWN_PARTNER}`, 'false');
const USER = `user_id = ${OWN_USER}`;

/** Rows of an organization, or with `org_id` null of the partner, which its organizations may read. */
const DUAL_OF_PARTNER = `partner_id = ${OWN_PARTNER} AND (org_id IS NULL OR ${ACCESSIBLE_ORGANIZATION})`;
const DUAL_READ = byScope(
  DUAL_OF_PARTNER,
  `org_id = ${OWN_ORGANIZATION} OR (org_id IS NULL AND partner_id = ${OWN_PARTNER})`,
);
const DUAL_WRITE = byScope(DUAL_OF_PARTNER, `org_id = ${OWN_ORGANIZATION}`);

/** A user is visible to itself, and to callers who see one of its memberships: the subqueries run under their policies. */
const VISIBLE_ACCOUNT = `
  CASE (SELECT current_setting('rmm.scope', true)) WHEN 'system' THEN ${IS_PLATFORM_LOGIN} ELSE
    id = ${OWN_USER}
    OR EXISTS (SELECT FROM partner_membership m WHERE m.user_id = user_account.id)
    OR EXISTS (SELECT FROM organization_membership m WHERE m.user_id = user_account.id)
  END`;

/** A tenant may add a user who has to accept an invitation, and nothing more. */
const INVITED_ACCOUNT = byScope(
  `status = 'invited' AND password_hash IS NULL AND NOT is_platform_admin AND NOT mfa_enabled`,
  `status = 'invited' AND password_hash IS NULL AND NOT is_platform_admin AND NOT mfa_enabled`,
);

/** Rows of users whom the caller sees. */
const ofVisibleUser = (table: string): string => `EXISTS (SELECT FROM user_account u WHERE u.id = ${table}.user_id)`;

/** Rows of an organization, or with `org_id` null of the partner alone. */
const OWNED = `CASE WHEN org_id IS NULL THEN (${PARTNER}) ELSE (${ORGANIZATION}) END`;

/** Seeded roles are visible to every tenant. */
const READABLE_ROLE = `
  (partner_id IS NULL AND (SELECT current_setting('rmm.scope', true)) IN ('system', 'partner', 'organization'))
  OR (partner_id IS NOT NULL AND ${OWNED})`;
const WRITABLE_ROLE = `partner_id IS NOT NULL AND NOT is_system AND ${OWNED}`;
const ofRole = (condition: string): string =>
  `EXISTS (SELECT FROM role r WHERE r.id = role_permission.role_id${condition})`;

/**
 * Rows of an organization for callers with access to it; rows of the partner for members with access to all of it. As a
 * CASE, whose rows the planner expects to be half of the table: a list then follows the order of an index.
 */
const READABLE_AUDIT_ENTRY = `
  CASE (SELECT current_setting('rmm.scope', true)) WHEN 'system' THEN ${IS_PLATFORM_LOGIN} ELSE
    (org_id IS NOT NULL AND (${ORGANIZATION}))
    OR (org_id IS NULL AND (SELECT current_setting('rmm.scope', true)) = 'partner'
        AND (SELECT current_setting('rmm.org_access', true)) = 'all' AND partner_id = ${OWN_PARTNER})
  END`;

/** Tables whose rows name an organization: a key ties it to its partner. */
const TABLES_OF_ORGANIZATIONS = [
  'organization_security_policy',
  'role',
  'organization_membership',
  'member_count',
  'invitation',
  'session_family',
  'sso_provider',
  'sso_domain',
  'scim_token',
  'scim_user',
  'scim_group',
  'scim_group_member',
];

/** Creates every table of the service. */
export class InitialSchema1767225600000 implements MigrationInterface {
  name = 'InitialSchema1767225600000';

  async up(q: QueryRunner): Promise<void> {
    await this.createPartners(q);
    await this.createUsers(q);
    await this.createRoles(q);
    await this.createMemberships(q);
    await this.createInvitations(q);
    await this.createSessions(q);
    await this.createSingleSignOn(q);
    await this.createScim(q);
    await this.createFactors(q);
    await this.createPasskeys(q);
    await this.createLinks(q);
    await this.createSigningKeys(q);
    await this.createMail(q);
    await this.createPartitionMaintenance(q);
    await this.createAuditTrail(q);
    await this.createMessaging(q);
    await this.createOrganizationDirectory(q);
    await this.createOrganizationErasures(q);
    await this.secureTables(q);
  }

  async down(q: QueryRunner): Promise<void> {
    await q.query(`
      DROP TABLE organization_erasure, audit_name, audit_name_salt, organization_directory, dead_letter_message, inbox, outbox_lease, outbox_broadcast, outbox, audit_entry, audit_head,
        rmm_partition_rule, mail, signing_key, pending_registration, link_token, known_device, recovery_code, passkey, totp_factor,
        scim_group_member, scim_group, scim_user, scim_token, sso_code, sso_flow, sso_identity, sso_domain, sso_provider, refresh_token, session_family, invitation, member_count, organization_membership, partner_membership, role_permission, role,
        permission, avatar, user_account, organization_security_policy, partner`);
    await q.query(`
      DROP FUNCTION partner_membership_joined, partner_membership_left, organization_membership_joined,
        organization_membership_left, rmm_drop_empty_outbox_partitions, rmm_maintain_partitions,
        rmm_maintain_partitions_at`);
  }

  private async createPartners(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE partner (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
        slug text NOT NULL CONSTRAINT partner_slug_key UNIQUE CHECK (length(slug) BETWEEN 1 AND 80),
        type text NOT NULL DEFAULT 'msp' CHECK (type IN ('msp', 'enterprise', 'internal')),
        plan text NOT NULL DEFAULT 'standard',
        status text NOT NULL DEFAULT 'active'
          CHECK (status IN ('pending', 'active', 'suspended', 'churned', 'offboarding')),
        settings jsonb NOT NULL DEFAULT '{}',
        max_organizations integer CHECK (max_organizations >= 0),
        max_devices integer CHECK (max_devices >= 0),
        timezone text NOT NULL DEFAULT 'UTC',
        billing_email text,
        currency_code text NOT NULL DEFAULT 'USD' CHECK (currency_code ~ '^[A-Z]{3}$'),
        signup_ip text,
        version bigint NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query(`CREATE INDEX partner_newest_idx ON partner (created_at DESC, id DESC)`);

    // The record of an organization is in provisioning.
    await q.query(`CREATE TABLE organization_security_policy (
        org_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        settings jsonb NOT NULL DEFAULT '{}',
        version bigint NOT NULL DEFAULT 1,
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
  }

  private async createUsers(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE user_account (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        email text NOT NULL CONSTRAINT user_account_email_key UNIQUE
          CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 255),
        name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
        password_hash text,
        status text NOT NULL DEFAULT 'invited' CHECK (status IN ('active', 'invited', 'disabled')),
        disabled_reason text,
        is_platform_admin boolean NOT NULL DEFAULT false,
        requires_setup boolean NOT NULL DEFAULT false,
        setup_completed_at timestamptz,
        avatar_url text,
        preferences jsonb NOT NULL DEFAULT '{}',
        mfa_method text CHECK (mfa_method IN ('totp', 'sms', 'passkey')),
        mfa_enabled boolean NOT NULL DEFAULT false,
        first_factor_at timestamptz,
        mfa_grace_granted_at timestamptz,
        mfa_enrollment_deadline timestamptz,
        mfa_opening_mail_at timestamptz,
        mfa_ending_mail_at timestamptz,
        phone_number text,
        phone_verified boolean NOT NULL DEFAULT false,
        email_verified_at timestamptz,
        pending_email text,
        pending_email_requested_at timestamptz,
        auth_epoch integer NOT NULL DEFAULT 1,
        mfa_epoch integer NOT NULL DEFAULT 1,
        email_epoch integer NOT NULL DEFAULT 1,
        reset_epoch integer NOT NULL DEFAULT 1,
        last_login_at timestamptz,
        password_changed_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CHECK (mfa_enabled = (mfa_method IS NOT NULL))
      )`);
    await q.query(`CREATE INDEX user_account_mfa_deadline_idx ON user_account (mfa_enrollment_deadline)
      WHERE first_factor_at IS NULL AND mfa_ending_mail_at IS NULL`);
    await q.query(`CREATE TABLE avatar (
        user_id uuid PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
        mime text NOT NULL CHECK (mime IN ('image/png', 'image/jpeg', 'image/webp')),
        bytes bytea NOT NULL CHECK (octet_length(bytes) <= 5242880),
        etag text NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
  }

  private async createRoles(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE permission (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        resource text NOT NULL CHECK (length(resource) BETWEEN 1 AND 100),
        action text NOT NULL CHECK (length(action) BETWEEN 1 AND 50),
        description text,
        UNIQUE (resource, action)
      )`);
    await q.query(`CREATE TABLE role (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid,
        parent_role_id uuid REFERENCES role (id),
        scope text NOT NULL CHECK (scope IN ('system', 'partner', 'organization')),
        name text NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
        description text,
        is_system boolean NOT NULL DEFAULT false,
        force_mfa boolean NOT NULL DEFAULT false,
        system_key text,
        version bigint NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CHECK (org_id IS NULL OR partner_id IS NOT NULL),
        CHECK (parent_role_id <> id),
        CHECK (is_system OR partner_id IS NOT NULL)
      )`);
    await q.query(`CREATE UNIQUE INDEX role_seeded_key ON role (system_key) WHERE partner_id IS NULL`);
    await q.query(
      `CREATE UNIQUE INDEX role_partner_copy_key ON role (partner_id, system_key) WHERE partner_id IS NOT NULL`,
    );
    await q.query(`CREATE INDEX role_owner_idx ON role (partner_id, org_id)`);
    await q.query(`CREATE INDEX role_parent_idx ON role (parent_role_id)`);
    await q.query(`CREATE TABLE role_permission (
        role_id uuid NOT NULL REFERENCES role (id) ON DELETE CASCADE,
        permission_id uuid NOT NULL REFERENCES permission (id),
        constraints jsonb,
        PRIMARY KEY (role_id, permission_id)
      )`);
  }

  /** Statement triggers maintain `member_count`, so that a list of members has its total without counting. */
  private async createMemberships(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE partner_membership (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        role_id uuid NOT NULL REFERENCES role (id),
        org_access text NOT NULL DEFAULT 'all' CHECK (org_access IN ('all', 'selected', 'none')),
        org_ids uuid[] NOT NULL DEFAULT '{}',
        invited_by uuid,
        last_entered_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT partner_membership_user_key UNIQUE (partner_id, user_id),
        CHECK (org_access = 'selected' OR org_ids = '{}')
      )`);
    await q.query(`CREATE INDEX partner_membership_user_idx ON partner_membership (user_id)`);
    await q.query(`CREATE INDEX partner_membership_role_idx ON partner_membership (role_id)`);
    await q.query(
      `CREATE INDEX partner_membership_listing_idx ON partner_membership (partner_id, created_at DESC, id DESC)`,
    );
    await q.query(`CREATE TABLE organization_membership (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid NOT NULL,
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        role_id uuid NOT NULL REFERENCES role (id),
        site_ids uuid[],
        device_group_ids uuid[],
        invited_by uuid,
        last_entered_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT organization_membership_user_key UNIQUE (org_id, user_id)
      )`);
    await q.query(`CREATE INDEX organization_membership_user_idx ON organization_membership (user_id)`);
    await q.query(`CREATE INDEX organization_membership_role_idx ON organization_membership (role_id)`);
    await q.query(
      `CREATE INDEX organization_membership_listing_idx ON organization_membership (org_id, created_at DESC, id DESC)`,
    );
    await q.query(`CREATE TABLE member_count (
        owner_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid,
        members integer NOT NULL
      )`);
    await q.query(`CREATE FUNCTION partner_membership_joined() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
      BEGIN
        INSERT INTO member_count (owner_id, partner_id, org_id, members)
        SELECT partner_id, partner_id, NULL::uuid, count(*)::integer FROM joined GROUP BY 1, 2, 3 ORDER BY 1
        ON CONFLICT (owner_id) DO UPDATE SET members = member_count.members + excluded.members;
        RETURN NULL;
      END $$`);
    await q.query(`CREATE FUNCTION partner_membership_left() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
      BEGIN
        UPDATE member_count c SET members = c.members - gone.members
        FROM (SELECT partner_id AS owner_id, count(*)::integer AS members FROM removed GROUP BY 1 ORDER BY 1) AS gone
        WHERE c.owner_id = gone.owner_id;
        RETURN NULL;
      END $$`);
    await q.query(`CREATE TRIGGER count_joined AFTER INSERT ON partner_membership
      REFERENCING NEW TABLE AS joined FOR EACH STATEMENT EXECUTE FUNCTION partner_membership_joined()`);
    await q.query(`CREATE TRIGGER count_left AFTER DELETE ON partner_membership
      REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION partner_membership_left()`);
    await q.query(`CREATE FUNCTION organization_membership_joined() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
      BEGIN
        INSERT INTO member_count (owner_id, partner_id, org_id, members)
        SELECT org_id, partner_id, org_id, count(*)::integer FROM joined GROUP BY 1, 2, 3 ORDER BY 1
        ON CONFLICT (owner_id) DO UPDATE SET members = member_count.members + excluded.members;
        RETURN NULL;
      END $$`);
    await q.query(`CREATE FUNCTION organization_membership_left() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
      BEGIN
        UPDATE member_count c SET members = c.members - gone.members
        FROM (SELECT org_id AS owner_id, count(*)::integer AS members FROM removed GROUP BY 1 ORDER BY 1) AS gone
        WHERE c.owner_id = gone.owner_id;
        RETURN NULL;
      END $$`);
    await q.query(`CREATE TRIGGER count_joined AFTER INSERT ON organization_membership
      REFERENCING NEW TABLE AS joined FOR EACH STATEMENT EXECUTE FUNCTION organization_membership_joined()`);
    await q.query(`CREATE TRIGGER count_left AFTER DELETE ON organization_membership
      REFERENCING OLD TABLE AS removed FOR EACH STATEMENT EXECUTE FUNCTION organization_membership_left()`);
  }

  /**
   * An invitation is a membership that does not count yet, apart from the tables of memberships, so that no query
   * counts it by mistake. After its acceptance the row answers for the used link and no longer refers to the role.
   */
  private async createInvitations(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE invitation (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid,
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        email text NOT NULL,
        name text NOT NULL,
        role_id uuid REFERENCES role (id),
        org_access text NOT NULL DEFAULT 'all' CHECK (org_access IN ('all', 'selected', 'none')),
        org_ids uuid[] NOT NULL DEFAULT '{}',
        site_ids uuid[],
        device_group_ids uuid[],
        invited_by uuid,
        token_hash bytea NOT NULL CONSTRAINT invitation_token_key UNIQUE,
        mailed boolean NOT NULL,
        expires_at timestamptz NOT NULL,
        accepted_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT invitation_user_key UNIQUE NULLS NOT DISTINCT (partner_id, org_id, user_id),
        CHECK ((accepted_at IS NULL) = (role_id IS NOT NULL)),
        CHECK (org_access = 'selected' OR org_ids = '{}')
      )`);
    await q.query(`CREATE INDEX invitation_user_idx ON invitation (user_id) WHERE accepted_at IS NULL`);
    await q.query(`CREATE INDEX invitation_role_idx ON invitation (role_id)`);
    await q.query(
      `CREATE INDEX invitation_listing_idx ON invitation (partner_id, org_id, created_at DESC, id DESC)
       WHERE accepted_at IS NULL`,
    );
  }

  private async createSessions(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE session_family (
        id uuid PRIMARY KEY,
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        scope text NOT NULL CHECK (scope IN ('system', 'partner', 'organization')),
        partner_id uuid,
        org_id uuid,
        mfa boolean NOT NULL,
        factor text CHECK (factor IN ('totp', 'sms', 'passkey')),
        method text NOT NULL CHECK (method IN ('password', 'passkey', 'sso', 'invite', 'registration')),
        auth_epoch integer NOT NULL,
        mfa_epoch integer NOT NULL,
        password_proof_at timestamptz,
        factor_proof_at timestamptz,
        ip_address text CHECK (length(ip_address) <= 45),
        user_agent text,
        signed_in_at timestamptz NOT NULL DEFAULT now(),
        created_at timestamptz NOT NULL DEFAULT now(),
        last_used_at timestamptz NOT NULL DEFAULT now(),
        absolute_expires_at timestamptz NOT NULL,
        revoked_at timestamptz,
        revoked_reason text,
        sso_provider_id uuid,
        sso_sid text
      )`);
    await q.query(`CREATE INDEX session_family_sso_idx ON session_family (sso_provider_id)
      WHERE sso_provider_id IS NOT NULL AND revoked_at IS NULL`);
    await q.query(`CREATE INDEX session_family_user_idx ON session_family (user_id) WHERE revoked_at IS NULL`);
    await q.query(`CREATE INDEX session_family_org_idx ON session_family (org_id) WHERE org_id IS NOT NULL`);
    await q.query(`CREATE INDEX session_family_end_idx ON session_family (absolute_expires_at)`);
    await q.query(
      `CREATE INDEX session_family_revoked_idx ON session_family (revoked_at) WHERE revoked_at IS NOT NULL`,
    );
    await q.query(`CREATE TABLE refresh_token (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        family_id uuid NOT NULL REFERENCES session_family (id) ON DELETE CASCADE,
        user_id uuid NOT NULL,
        token_hash bytea NOT NULL CONSTRAINT refresh_token_hash_key UNIQUE,
        issued_at timestamptz NOT NULL DEFAULT now(),
        expires_at timestamptz NOT NULL,
        rotated_at timestamptz
      )`);
    await q.query(`CREATE INDEX refresh_token_family_idx ON refresh_token (family_id, issued_at)`);
    await q.query(`CREATE TABLE known_device (
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        fingerprint bytea NOT NULL,
        first_seen_at timestamptz NOT NULL DEFAULT now(),
        last_seen_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (user_id, fingerprint)
      )`);
  }

  /** Identity providers of organizations, and of partners for their own staff (`org_id` null). */
  private async createSingleSignOn(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE sso_provider (
        id uuid PRIMARY KEY,
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid,
        name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
        type text NOT NULL CHECK (type IN ('oidc', 'saml')),
        preset text,
        status text NOT NULL DEFAULT 'inactive' CHECK (status IN ('active', 'inactive', 'testing')),
        issuer text,
        client_id text,
        client_secret_sealed text,
        scopes text NOT NULL DEFAULT 'openid profile email',
        attribute_mapping jsonb NOT NULL DEFAULT '{}',
        metadata jsonb,
        auto_provision boolean NOT NULL DEFAULT false,
        default_role_id uuid REFERENCES role (id) ON DELETE SET NULL,
        default_role_configured_by uuid,
        allowed_domains text[] NOT NULL DEFAULT '{}',
        enforce_sso boolean NOT NULL DEFAULT false,
        trusts_idp_mfa boolean NOT NULL DEFAULT false,
        scim_role_mappings jsonb NOT NULL DEFAULT '[]',
        scim_groups_by_name boolean NOT NULL DEFAULT false,
        scim_configured_by uuid,
        config_version integer NOT NULL DEFAULT 1,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query(`CREATE INDEX sso_provider_owner_idx ON sso_provider (partner_id, org_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX sso_provider_role_idx ON sso_provider (default_role_id)`);
    await q.query(`CREATE INDEX sso_provider_org_idx ON sso_provider (org_id) WHERE status = 'active'`);
    await q.query(`CREATE TABLE sso_identity (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        provider_id uuid NOT NULL REFERENCES sso_provider (id) ON DELETE CASCADE,
        subject text NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        email text,
        created_at timestamptz NOT NULL DEFAULT now(),
        last_login_at timestamptz,
        CONSTRAINT sso_identity_subject_key UNIQUE (provider_id, subject),
        CONSTRAINT sso_identity_user_key UNIQUE (provider_id, user_id)
      )`);
    await q.query(`CREATE INDEX sso_identity_user_idx ON sso_identity (user_id, created_at DESC, id DESC)`);
    await q.query(`CREATE TABLE sso_domain (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid NOT NULL,
        domain text NOT NULL CHECK (domain = lower(domain) AND length(domain) BETWEEN 3 AND 253),
        txt_record_value text NOT NULL,
        verified_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT sso_domain_org_key UNIQUE (org_id, domain)
      )`);
    await q.query(`CREATE UNIQUE INDEX sso_domain_verified_key ON sso_domain (domain) WHERE verified_at IS NOT NULL`);
    await q.query(`CREATE INDEX sso_domain_listing_idx ON sso_domain (partner_id, org_id, created_at DESC, id DESC)`);
    await q.query(`CREATE TABLE sso_flow (
        state_hash bytea PRIMARY KEY,
        browser_hash bytea NOT NULL,
        provider_id uuid NOT NULL,
        config_version integer NOT NULL,
        purpose text NOT NULL CHECK (purpose IN ('login', 'link', 'reauth')),
        user_id uuid REFERENCES user_account (id) ON DELETE CASCADE,
        session_id uuid,
        sealed_secrets text NOT NULL,
        return_to text NOT NULL,
        expires_at timestamptz NOT NULL,
        CHECK ((purpose = 'login') = (user_id IS NULL))
      )`);
    await q.query(`CREATE INDEX sso_flow_end_idx ON sso_flow (expires_at)`);
    await q.query(`CREATE TABLE sso_code (
        code_hash bytea PRIMARY KEY,
        browser_hash bytea NOT NULL,
        provider_id uuid NOT NULL REFERENCES sso_provider (id) ON DELETE CASCADE,
        config_version integer NOT NULL,
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        auth_epoch integer NOT NULL,
        idp_mfa boolean NOT NULL,
        sso_sid text,
        expires_at timestamptz NOT NULL
      )`);
    await q.query(`CREATE INDEX sso_code_end_idx ON sso_code (expires_at)`);
    await q.query(`CREATE INDEX sso_code_provider_idx ON sso_code (provider_id)`);
  }

  /**
   * Users and groups of an organization as its identity provider keeps them by SCIM. A user who is not active has no
   * membership; the row keeps what a membership that begins again gets back.
   */
  private async createScim(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE scim_token (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid NOT NULL,
        provider_id uuid NOT NULL REFERENCES sso_provider (id) ON DELETE CASCADE,
        name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
        token_prefix text NOT NULL,
        token_hash bytea NOT NULL CONSTRAINT scim_token_hash_key UNIQUE,
        created_by uuid,
        expires_at timestamptz,
        last_used_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query(`CREATE INDEX scim_token_listing_idx ON scim_token (partner_id, org_id, created_at DESC, id DESC)`);
    await q.query(`CREATE INDEX scim_token_provider_idx ON scim_token (provider_id)`);
    await q.query(`CREATE TABLE scim_user (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid NOT NULL,
        provider_id uuid NOT NULL REFERENCES sso_provider (id) ON DELETE CASCADE,
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        user_name text NOT NULL CHECK (length(user_name) BETWEEN 1 AND 255),
        external_id text CHECK (length(external_id) BETWEEN 1 AND 255),
        email text NOT NULL CHECK (email = lower(email) AND length(email) BETWEEN 3 AND 255),
        email_type text NOT NULL DEFAULT 'work',
        display_name text,
        given_name text,
        family_name text,
        active boolean NOT NULL,
        owns_account boolean NOT NULL,
        kept_role_id uuid REFERENCES role (id) ON DELETE SET NULL,
        site_ids uuid[],
        device_group_ids uuid[],
        settings_version integer NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now(),
        CONSTRAINT scim_user_account_key UNIQUE (org_id, user_id)
      )`);
    await q.query(`CREATE UNIQUE INDEX scim_user_name_key ON scim_user (provider_id, lower(user_name))`);
    await q.query(`CREATE UNIQUE INDEX scim_user_external_key ON scim_user (provider_id, external_id)`);
    await q.query(`CREATE INDEX scim_user_email_idx ON scim_user (provider_id, email)`);
    await q.query(`CREATE INDEX scim_user_listing_idx ON scim_user (provider_id, created_at, id)`);
    await q.query(`CREATE INDEX scim_user_organization_idx ON scim_user (partner_id, org_id, id)`);
    await q.query(`CREATE INDEX scim_user_account_idx ON scim_user (user_id)`);
    await q.query(`CREATE INDEX scim_user_kept_role_idx ON scim_user (kept_role_id)`);
    await q.query(`CREATE TABLE scim_group (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid NOT NULL,
        provider_id uuid NOT NULL REFERENCES sso_provider (id) ON DELETE CASCADE,
        display_name text NOT NULL CHECK (length(display_name) BETWEEN 1 AND 255),
        external_id text CHECK (length(external_id) BETWEEN 1 AND 255),
        created_at timestamptz NOT NULL DEFAULT now(),
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query(`CREATE UNIQUE INDEX scim_group_name_key ON scim_group (provider_id, lower(display_name))`);
    await q.query(`CREATE UNIQUE INDEX scim_group_external_key ON scim_group (provider_id, external_id)`);
    await q.query(`CREATE INDEX scim_group_listing_idx ON scim_group (provider_id, created_at, id)`);
    await q.query(`CREATE INDEX scim_group_organization_idx ON scim_group (partner_id, org_id, id)`);
    await q.query(`CREATE TABLE scim_group_member (
        group_id uuid NOT NULL REFERENCES scim_group (id) ON DELETE CASCADE,
        scim_user_id uuid NOT NULL REFERENCES scim_user (id) ON DELETE CASCADE,
        partner_id uuid NOT NULL REFERENCES partner (id) ON DELETE CASCADE,
        org_id uuid NOT NULL,
        PRIMARY KEY (group_id, scim_user_id)
      )`);
    await q.query(`CREATE INDEX scim_group_member_user_idx ON scim_group_member (scim_user_id)`);
    await q.query(`CREATE INDEX scim_group_member_organization_idx ON scim_group_member (partner_id, org_id)`);
  }

  private async createFactors(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE totp_factor (
        user_id uuid PRIMARY KEY REFERENCES user_account (id) ON DELETE CASCADE,
        secret_sealed text NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query(`CREATE TABLE recovery_code (
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        code_hash bytea NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (user_id, code_hash)
      )`);
  }

  /** A credential id is unique over all users: a passkey alone determines who signs in. */
  private async createPasskeys(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE passkey (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        credential_id bytea NOT NULL CONSTRAINT passkey_credential_key UNIQUE
          CHECK (octet_length(credential_id) BETWEEN 1 AND 1023),
        public_key bytea NOT NULL CHECK (octet_length(public_key) <= 2048),
        counter bigint NOT NULL CHECK (counter BETWEEN 0 AND 4294967295),
        name text NOT NULL CHECK (length(name) BETWEEN 1 AND 255),
        device_type text NOT NULL CHECK (device_type IN ('singleDevice', 'multiDevice')),
        backed_up boolean NOT NULL,
        transports text[] NOT NULL DEFAULT '{}',
        last_used_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        CHECK (device_type = 'multiDevice' OR NOT backed_up)
      )`);
    await q.query(`CREATE INDEX passkey_user_idx ON passkey (user_id, created_at DESC, id DESC)`);
  }

  /** A user has one token per purpose: a new one replaces the row. */
  private async createLinks(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE link_token (
        user_id uuid NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        purpose text NOT NULL CHECK (purpose IN ('email_verification', 'password_reset', 'email_change')),
        token_hash bytea NOT NULL CONSTRAINT link_token_hash_key UNIQUE,
        epoch integer,
        expires_at timestamptz NOT NULL,
        used_at timestamptz,
        created_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (user_id, purpose)
      )`);
    await q.query(`CREATE TABLE pending_registration (
        id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        token_hash bytea NOT NULL CONSTRAINT pending_registration_hash_key UNIQUE,
        company_name text NOT NULL,
        email text NOT NULL CONSTRAINT pending_registration_email_key UNIQUE,
        name text NOT NULL,
        password_hash text NOT NULL,
        ip_address text,
        user_agent text,
        expires_at timestamptz NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query(`CREATE INDEX pending_registration_end_idx ON pending_registration (expires_at)`);
  }

  private async createSigningKeys(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE signing_key (
        kid text PRIMARY KEY,
        private_jwk_sealed text NOT NULL,
        public_jwk jsonb NOT NULL,
        created_at timestamptz NOT NULL DEFAULT now(),
        retired_at timestamptz,
        withdrawn_at timestamptz
      )`);
    await q.query(`CREATE UNIQUE INDEX signing_key_one_active ON signing_key ((true)) WHERE retired_at IS NULL`);
  }

  private async createMail(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE mail (
        id uuid PRIMARY KEY,
        idempotency_key text CONSTRAINT mail_idempotency_key UNIQUE,
        recipient text NOT NULL,
        template text NOT NULL,
        locale text NOT NULL DEFAULT 'en',
        values_sealed text,
        attempts integer NOT NULL DEFAULT 0,
        last_error text,
        created_at timestamptz NOT NULL DEFAULT now(),
        next_attempt_at timestamptz NOT NULL DEFAULT now(),
        sent_at timestamptz,
        abandoned_at timestamptz
      )`);
    await q.query(
      `CREATE INDEX mail_waiting_idx ON mail (next_attempt_at) WHERE sent_at IS NULL AND abandoned_at IS NULL`,
    );
    await q.query(`CREATE INDEX mail_done_idx ON mail (created_at)`);
  }

  /** Creates the function by which the worker login adds partitions ahead of time and drops old ones. */
  private async createPartitionMaintenance(q: QueryRunner): Promise<void> {
    const { worker, schema } = await loginRoles(q);
    await q.query(`CREATE TABLE rmm_partition_rule (
        table_name  text PRIMARY KEY,
        time_column text NOT NULL,
        every_days  integer NOT NULL CHECK (every_days BETWEEN 1 AND 366),
        keep_days   integer CHECK (keep_days >= 1),
        ahead_days  integer NOT NULL CHECK (ahead_days BETWEEN 1 AND 366)
      )`);
    await q.query(`ALTER TABLE rmm_partition_rule ENABLE ROW LEVEL SECURITY`);
    await q.query(`COMMENT ON TABLE rmm_partition_rule IS 'rmm:worker-only'`);
    await q.query(`CREATE FUNCTION rmm_maintain_partitions_at(at timestamptz, OUT created integer, OUT dropped integer)
      LANGUAGE plpgsql
      SET search_path = ${schema}, pg_temp
      SET timezone = 'UTC'
      SET lock_timeout = '3s'
      AS $body$
      DECLARE
        rule record;
        child record;
        seconds bigint;
        lower_bound timestamptz;
        upper_bound timestamptz;
        part text;
        fallback text;
        columns text;
        misplaced boolean;
      BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('rmm.partitions.' || current_schema(), 0));
        created := 0;
        dropped := 0;
        FOR rule IN SELECT * FROM rmm_partition_rule ORDER BY table_name LOOP
          seconds := 86400 * rule.every_days;
          fallback := rule.table_name || '_default';
          lower_bound := to_timestamp(floor(extract(epoch FROM at) / seconds) * seconds);
          WHILE lower_bound <= at + make_interval(days => rule.ahead_days) LOOP
            upper_bound := lower_bound + make_interval(secs => seconds);
            part := rule.table_name || '_p' || to_char(lower_bound, 'YYYYMMDD');
            IF to_regclass(quote_ident(part)) IS NULL THEN
              EXECUTE format('create table %I (like %I including defaults including constraints including generated including storage)',
                             part, rule.table_name);
              EXECUTE format('alter table %I enable row level security', part);
              EXECUTE format('select exists (select from %I where %I >= $1 and %I < $2)', fallback, rule.time_column, rule.time_column)
                 INTO misplaced USING lower_bound, upper_bound;
              IF misplaced THEN
                SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) INTO columns
                  FROM pg_attribute WHERE attrelid = to_regclass(quote_ident(part)) AND attnum > 0 AND NOT attisdropped AND attgenerated = '';
                EXECUTE format('with moved as (delete from %I where %I >= $1 and %I < $2 returning *) insert into %I (%s) select %s from moved',
                               fallback, rule.time_column, rule.time_column, part, columns, columns)
                  USING lower_bound, upper_bound;
              END IF;
              EXECUTE format('alter table %I attach partition %I for values from (%L) to (%L)',
                             rule.table_name, part, lower_bound, upper_bound);
              created := created + 1;
            END IF;
            lower_bound := upper_bound;
          END LOOP;
          IF rule.keep_days IS NOT NULL THEN
            FOR child IN
              SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
               WHERE i.inhparent = to_regclass(quote_ident(rule.table_name)) AND c.relname ~ '_p[0-9]{8}$'
            LOOP
              lower_bound := to_timestamp(RIGHT(child.relname, 8), 'YYYYMMDD');
              IF lower_bound + make_interval(secs => seconds) <= at - make_interval(days => rule.keep_days) THEN
                EXECUTE format('drop table %I', child.relname);
                dropped := dropped + 1;
              END IF;
            END LOOP;
            EXECUTE format('delete from %I where %I < $1', fallback, rule.time_column)
              USING at - make_interval(days => rule.keep_days);
          END IF;
        END LOOP;
      END
      $body$`);
    await q.query(`CREATE FUNCTION rmm_maintain_partitions(OUT created integer, OUT dropped integer)
      LANGUAGE sql SECURITY DEFINER
      SET search_path = ${schema}, pg_temp
      AS 'select created, dropped from rmm_maintain_partitions_at(now())'`);
    await q.query(`REVOKE ALL ON FUNCTION rmm_maintain_partitions_at(timestamptz) FROM PUBLIC`);
    await q.query(`REVOKE ALL ON FUNCTION rmm_maintain_partitions() FROM PUBLIC`);
    await q.query(`GRANT EXECUTE ON FUNCTION rmm_maintain_partitions() TO ${worker}`);
    await q.query(`COMMENT ON FUNCTION rmm_maintain_partitions() IS 'rmm:worker-function'`);
  }

  /** No login of the service may change or delete an audit entry. */
  private async createAuditTrail(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE audit_head (
        chain text PRIMARY KEY,
        partner_id uuid,
        sequence bigint NOT NULL,
        checksum text NOT NULL,
        sealed_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query(`CREATE TABLE audit_entry (
        id uuid NOT NULL,
        sequence bigint NOT NULL,
        partner_id uuid,
        org_id uuid,
        timestamp timestamptz NOT NULL,
        actor_type text NOT NULL CHECK (actor_type IN ('user', 'api_key', 'agent', 'system')),
        actor_id text,
        actor_email text,
        action text NOT NULL,
        resource_type text NOT NULL,
        resource_id text,
        resource_name text,
        details jsonb NOT NULL DEFAULT '{}',
        ip_address text,
        user_agent text,
        result text NOT NULL CHECK (result IN ('success', 'failure', 'denied')),
        error_message text,
        initiated_by text,
        request_id text,
        canonical text NOT NULL,
        checksum text NOT NULL,
        previous_checksum text NOT NULL,
        sealed_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (id, timestamp)
      ) PARTITION BY RANGE (timestamp)`);
    await q.query(`CREATE INDEX audit_entry_partner_idx ON audit_entry (partner_id, timestamp DESC, id DESC)`);
    await q.query(`CREATE INDEX audit_entry_org_idx ON audit_entry (org_id, timestamp DESC, id DESC)`);
    await q.query(`CREATE INDEX audit_entry_chain_idx ON audit_entry (partner_id, sequence)`);
    await q.query(`CREATE INDEX audit_entry_all_idx ON audit_entry (timestamp DESC, id DESC)`);
    await q.query(
      `CREATE INDEX audit_entry_action_idx ON audit_entry (partner_id, action text_pattern_ops, timestamp DESC, id DESC)`,
    );
    await q.query(`CREATE INDEX audit_entry_actor_idx ON audit_entry (partner_id, actor_id, timestamp DESC, id DESC)`);
    await q.query(
      `CREATE INDEX audit_entry_resource_idx ON audit_entry (partner_id, resource_id, timestamp DESC, id DESC)`,
    );
    // Entries of an organization contain pseudonyms; the names are here, and go with the organization.
    await q.query(`CREATE TABLE audit_name_salt (
        org_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL,
        salt bytea NOT NULL CHECK (octet_length(salt) = 32)
      )`);
    await q.query(`CREATE TABLE audit_name (
        org_id uuid NOT NULL,
        pseudonym text NOT NULL,
        partner_id uuid NOT NULL,
        name text NOT NULL,
        PRIMARY KEY (org_id, pseudonym)
      )`);
    await partitionByTime(q, 'audit_entry', 'timestamp', { everyDays: 30, keepDays: 'NULL', aheadDays: 60 });
  }

  private async createMessaging(q: QueryRunner): Promise<void> {
    const { worker, schema } = await loginRoles(q);
    await q.query(`CREATE TABLE outbox (
        seq          bigint GENERATED ALWAYS AS IDENTITY,
        created_at   timestamptz NOT NULL DEFAULT now(),
        id           uuid NOT NULL,
        aggregate_id text COLLATE "C" NOT NULL,
        subject      text NOT NULL,
        payload      text NOT NULL,
        PRIMARY KEY (seq, created_at)
      ) PARTITION BY RANGE (created_at)`);
    await q.query(`CREATE TABLE outbox_lease (
        lease_id     uuid PRIMARY KEY,
        aggregates   text[] COLLATE "C" NOT NULL,
        leased_until timestamptz NOT NULL
      )`);
    await q.query(`CREATE TABLE outbox_broadcast (
        seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        created_at   timestamptz NOT NULL DEFAULT clock_timestamp(),
        subject      text NOT NULL,
        payload      text NOT NULL,
        leased_until timestamptz
      )`);
    await partitionByTime(q, 'outbox', 'created_at', { everyDays: 1, keepDays: 'NULL', aheadDays: 3 });
    await q.query(`CREATE FUNCTION rmm_drop_empty_outbox_partitions() RETURNS integer
        LANGUAGE plpgsql SECURITY DEFINER
        SET search_path = ${schema}, pg_temp
        SET timezone = 'UTC'
        SET lock_timeout = '1s'
        AS $body$
        DECLARE
          child record;
          filled boolean;
          dropped integer := 0;
        BEGIN
          FOR child IN
            SELECT c.relname FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
             WHERE i.inhparent = 'outbox'::regclass AND c.relname ~ '_p[0-9]{8}$'
               AND to_timestamp(RIGHT(c.relname, 8), 'YYYYMMDD') < now() - interval '2 days'
          LOOP
            EXECUTE format('select exists (select from %I)', child.relname) INTO filled;
            CONTINUE WHEN filled;
            EXECUTE format('lock table outbox, %I in access exclusive mode', child.relname);
            EXECUTE format('select exists (select from %I)', child.relname) INTO filled;
            CONTINUE WHEN filled;
            EXECUTE format('drop table %I', child.relname);
            dropped := dropped + 1;
          END LOOP;
          RETURN dropped;
        END
        $body$`);
    await q.query(`REVOKE ALL ON FUNCTION rmm_drop_empty_outbox_partitions() FROM PUBLIC`);
    await q.query(`GRANT EXECUTE ON FUNCTION rmm_drop_empty_outbox_partitions() TO ${worker}`);
    await q.query(`COMMENT ON FUNCTION rmm_drop_empty_outbox_partitions() IS 'rmm:worker-function'`);
    await q.query(`CREATE TABLE inbox (
        consumer   text NOT NULL,
        message_id text NOT NULL,
        message_at timestamptz NOT NULL,
        handled_at timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (consumer, message_id, message_at)
      ) PARTITION BY RANGE (message_at)`);
    await partitionByTime(q, 'inbox', 'message_at', { everyDays: 7, keepDays: '30', aheadDays: 7 });
    await q.query(`CREATE TABLE dead_letter_message (
        id         uuid PRIMARY KEY DEFAULT gen_random_uuid(),
        consumer   text NOT NULL,
        message_id text NOT NULL,
        subject    text NOT NULL,
        payload    text NOT NULL,
        reason     text NOT NULL,
        deliveries integer NOT NULL,
        failed_at  timestamptz NOT NULL DEFAULT now(),
        UNIQUE (consumer, message_id)
      )`);
  }

  private async createOrganizationDirectory(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE organization_directory (
        org_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL,
        name text NOT NULL DEFAULT '',
        slug text NOT NULL DEFAULT '',
        status text NOT NULL,
        deleted boolean NOT NULL DEFAULT false,
        version bigint NOT NULL,
        updated_at timestamptz NOT NULL DEFAULT now()
      )`);
    await q.query(`CREATE UNIQUE INDEX organization_directory_partner ON organization_directory (partner_id, org_id)`);
    for (const table of TABLES_OF_ORGANIZATIONS) {
      await q.query(`ALTER TABLE ${table} ADD CONSTRAINT ${table}_organization_fkey
        FOREIGN KEY (partner_id, org_id) REFERENCES organization_directory (partner_id, org_id)`);
    }
  }

  /** Finished erasures remain: names of these organizations are stored no more. */
  private async createOrganizationErasures(q: QueryRunner): Promise<void> {
    await q.query(`CREATE TABLE organization_erasure (
        org_id uuid PRIMARY KEY,
        partner_id uuid NOT NULL,
        erased jsonb NOT NULL DEFAULT '{}',
        started_at timestamptz NOT NULL DEFAULT now(),
        finished_at timestamptz,
        reported_at timestamptz,
        CONSTRAINT organization_erasure_organization_fkey
          FOREIGN KEY (partner_id, org_id) REFERENCES organization_directory (partner_id, org_id)
      )`);
    await q.query(
      `CREATE INDEX organization_erasure_open_idx ON organization_erasure (started_at) WHERE finished_at IS NULL`,
    );
    await q.query(
      `CREATE INDEX organization_erasure_unreported_idx ON organization_erasure (finished_at) WHERE reported_at IS NULL`,
    );
  }

  /** Enables row-level security on every table. Last, because policies of one table read others. */
  private async secureTables(q: QueryRunner): Promise<void> {
    await secureTable(q, 'partner', {
      rows: byScope(`id = ${OWN_PARTNER}`, 'false'),
      service: 'SELECT, UPDATE',
      worker: 'SELECT, INSERT',
    });
    await secureTable(q, 'organization_security_policy', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, DELETE',
    });
    await secureTable(q, 'user_account', {
      rows: {
        SELECT: VISIBLE_ACCOUNT,
        INSERT: INVITED_ACCOUNT,
        UPDATE: VISIBLE_ACCOUNT,
        DELETE: 'false',
      },
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'avatar', {
      rows: { SELECT: ofVisibleUser('avatar'), INSERT: USER, UPDATE: USER, DELETE: USER },
      service: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'permission', { comment: 'rmm:global', service: 'SELECT', worker: 'SELECT, INSERT, UPDATE' });
    await secureTable(q, 'role', {
      rows: { SELECT: READABLE_ROLE, INSERT: WRITABLE_ROLE, UPDATE: WRITABLE_ROLE, DELETE: WRITABLE_ROLE },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'role_permission', {
      rows: {
        SELECT: ofRole(''),
        INSERT: ofRole(' AND NOT r.is_system'),
        UPDATE: ofRole(' AND NOT r.is_system'),
        DELETE: ofRole(' AND NOT r.is_system'),
      },
      service: 'SELECT, INSERT, DELETE',
      worker: 'SELECT, INSERT, DELETE',
    });
    await secureTable(q, 'partner_membership', {
      rows: { SELECT: `(${PARTNER}) OR ${USER}`, INSERT: PARTNER, UPDATE: PARTNER, DELETE: PARTNER },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'organization_membership', {
      rows: {
        SELECT: `(${ORGANIZATION}) OR ${USER}`,
        INSERT: ORGANIZATION,
        UPDATE: ORGANIZATION,
        DELETE: ORGANIZATION,
      },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'invitation', {
      rows: OWNED,
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'member_count', {
      rows: { SELECT: DUAL_READ, INSERT: DUAL_WRITE, UPDATE: DUAL_WRITE, DELETE: DUAL_WRITE },
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'session_family', {
      rows: {
        SELECT: `${USER} OR ${ofVisibleUser('session_family')}`,
        INSERT: USER,
        // An administrator may revoke the sessions of a member, and change nothing else.
        UPDATE: {
          using: `${USER} OR ${ofVisibleUser('session_family')}`,
          check: `${USER} OR (revoked_at IS NOT NULL AND ${ofVisibleUser('session_family')})`,
        },
        DELETE: USER,
      },
      service: 'SELECT, INSERT, UPDATE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'refresh_token', {
      rows: USER,
      service: 'SELECT, INSERT',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'sso_provider', {
      rows: OWNED,
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, UPDATE, DELETE',
    });
    await secureTable(q, 'sso_identity', {
      rows: USER,
      service: 'SELECT, DELETE',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'sso_domain', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, DELETE',
    });
    await secureTable(q, 'scim_token', {
      rows: ORGANIZATION,
      service: 'SELECT, INSERT, DELETE',
      worker: 'SELECT, UPDATE, DELETE',
    });
    for (const table of ['scim_user', 'scim_group', 'scim_group_member']) {
      await secureTable(q, table, {
        rows: { SELECT: ORGANIZATION, INSERT: 'false', UPDATE: 'false', DELETE: 'false' },
        service: 'SELECT',
        worker: 'SELECT, INSERT, UPDATE, DELETE',
      });
    }
    await secureTable(q, 'sso_flow', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE, DELETE' });
    await secureTable(q, 'sso_code', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE, DELETE' });
    await secureTable(q, 'known_device', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE, DELETE' });
    await secureTable(q, 'totp_factor', {
      // An administrator may delete the factors of a member; to delete a row it must be visible.
      rows: {
        SELECT: `${USER} OR ${ofVisibleUser('totp_factor')}`,
        INSERT: USER,
        UPDATE: USER,
        DELETE: `${USER} OR ${ofVisibleUser('totp_factor')}`,
      },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, UPDATE',
    });
    await secureTable(q, 'passkey', {
      // An administrator may delete the factors of a member; to delete a row it must be visible.
      rows: {
        SELECT: `${USER} OR ${ofVisibleUser('passkey')}`,
        INSERT: USER,
        UPDATE: USER,
        DELETE: `${USER} OR ${ofVisibleUser('passkey')}`,
      },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, UPDATE',
    });
    await secureTable(q, 'recovery_code', {
      // An administrator may delete the factors of a member; to delete a row it must be visible.
      rows: {
        SELECT: `${USER} OR ${ofVisibleUser('recovery_code')}`,
        INSERT: USER,
        UPDATE: USER,
        DELETE: `${USER} OR ${ofVisibleUser('recovery_code')}`,
      },
      service: 'SELECT, INSERT, UPDATE, DELETE',
      worker: 'SELECT, DELETE',
    });
    await secureTable(q, 'link_token', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE, DELETE' });
    await secureTable(q, 'pending_registration', {
      comment: 'rmm:worker-only',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'signing_key', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE' });
    await secureTable(q, 'mail', {
      comment: 'rmm:worker-only',
      service: 'INSERT',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'audit_head', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE' });
    await secureTable(q, 'audit_name_salt', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, DELETE' });
    await secureTable(q, 'audit_name', {
      rows: { SELECT: ORGANIZATION, INSERT: 'false', UPDATE: 'false', DELETE: 'false' },
      service: 'SELECT',
      worker: 'SELECT, INSERT, DELETE',
    });
    await secureTable(q, 'organization_erasure', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE' });
    await secureTable(q, 'audit_entry', {
      rows: { SELECT: READABLE_AUDIT_ENTRY, INSERT: 'false', UPDATE: 'false', DELETE: 'false' },
      service: 'SELECT',
      worker: 'SELECT, INSERT',
    });
    await secureTable(q, 'outbox', {
      comment: 'rmm:worker-only',
      service: 'INSERT',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'outbox_broadcast', {
      comment: 'rmm:worker-only',
      service: 'INSERT',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'outbox_lease', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT, UPDATE, DELETE' });
    await secureTable(q, 'inbox', { comment: 'rmm:worker-only', worker: 'SELECT, INSERT' });
    await secureTable(q, 'dead_letter_message', {
      comment: 'rmm:worker-only',
      worker: 'SELECT, INSERT, UPDATE, DELETE',
    });
    await secureTable(q, 'organization_directory', {
      rows: ORGANIZATION,
      service: 'SELECT',
      worker: 'SELECT, INSERT, UPDATE',
    });
  }
}

interface PartitionRule {
  everyDays: number;
  /** SQL: a number of days, or NULL to keep rows for ever. */
  keepDays: string;
  aheadDays: number;
}

/** Registers a table for partition maintenance and creates its first partitions. */
async function partitionByTime(q: QueryRunner, table: string, column: string, rule: PartitionRule): Promise<void> {
  await q.query(`CREATE TABLE ${table}_default PARTITION OF ${table} DEFAULT`);
  await q.query(`ALTER TABLE ${table}_default ENABLE ROW LEVEL SECURITY`);
  await q.query(`
    INSERT INTO rmm_partition_rule (table_name, time_column, every_days, keep_days, ahead_days)
    VALUES ('${table}', '${column}', ${rule.everyDays}, ${rule.keepDays}, ${rule.aheadDays})`);
  await q.query(`SELECT rmm_maintain_partitions_at(now())`);
}

type Command = 'SELECT' | 'INSERT' | 'UPDATE' | 'DELETE';
const COMMANDS: readonly Command[] = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** A condition; of an update, separate ones for the row before and after it. */
type Rows = string | { using: string; check: string };

interface TableSecurity {
  /** The rows the service login may use, by command; every row of a table with a `comment`. */
  rows?: string | Record<Command, Rows>;
  /** Marks a table without tenant policies: `rmm:worker-only` or `rmm:global`. */
  comment?: string;
  /** The commands granted to the service login. */
  service?: string;
  /** The commands granted to the worker login, on all rows. */
  worker?: string;
}

/** Enables row-level security and creates the policies and grants of one table. */
async function secureTable(q: QueryRunner, table: string, { rows, comment, ...granted }: TableSecurity): Promise<void> {
  const roles = await loginRoles(q);
  await q.query(`ALTER TABLE ${table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY`);
  await q.query(`REVOKE ALL ON ${table} FROM PUBLIC, ${roles.service}, ${roles.worker}`);
  if (comment) await q.query(`COMMENT ON TABLE ${table} IS '${comment}'`);
  for (const login of ['service', 'worker'] as const) {
    const commands = granted[login]?.split(', ') ?? [];
    for (const command of COMMANDS) {
      const restricted = login === 'service' && rows !== undefined;
      if (!restricted && !commands.includes(command)) continue;
      const allowed: Rows = !restricted ? 'true' : typeof rows === 'string' ? rows : rows[command];
      const { using, check } = typeof allowed === 'string' ? { using: allowed, check: allowed } : allowed;
      const name = `${login}_${command.toLowerCase()}`;
      await q.query(
        `CREATE POLICY ${name} ON ${table} FOR ${command} TO ${roles[login]}` +
          (command === 'INSERT' ? '' : ` USING (${using})`) +
          (command === 'INSERT' || command === 'UPDATE' ? ` WITH CHECK (${check})` : ''),
      );
    }
    if (commands.length > 0) await q.query(`GRANT ${commands.join(', ')} ON ${table} TO ${roles[login]}`);
  }
}

/** Returns the quoted names of the runtime logins and the schema; the migrations runner sets them on its connection. */
async function loginRoles(q: QueryRunner): Promise<{ service: string; worker: string; schema: string }> {
  const rows = (await q.query(`
    SELECT quote_ident(current_setting('rmm.service_role')) AS service,
           quote_ident(current_setting('rmm.worker_role')) AS worker,
           quote_ident(current_schema()) AS schema`)) as { service: string; worker: string; schema: string }[];
  return rows[0];
}
