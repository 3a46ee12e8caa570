#!/bin/sh
# Runs once, when the volume of PostgreSQL is new: a database, and per service a schema with its three logins
# (owner for migrations, service, worker, which acts as service for platform administrators), each with its own password from the environment: IDENTITY_OWNER_DB_PASSWORD,
# IDENTITY_DB_PASSWORD, IDENTITY_WORKER_DB_PASSWORD and so on. A login whose password is empty cannot log in. The names differ from those of ./fleet, so that both fit on one server.
set -eu
for schema in identity credentials partner_gateway provisioning webhook_dispatcher; do
  name=$(echo "$schema" | tr '[:lower:]' '[:upper:]')
  eval "owner_password=\${${name}_OWNER_DB_PASSWORD:-}"
  eval "service_password=\${${name}_DB_PASSWORD:-}"
  eval "worker_password=\${${name}_WORKER_DB_PASSWORD:-}"
  psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
    -v schema="$schema" -v owner="${schema}_owner" -v service="${schema}_service" -v worker="${schema}_worker" \
    -v owner_password="$owner_password" -v service_password="$service_password" -v worker_password="$worker_password" <<'SQL'
create role :"owner" login nosuperuser nobypassrls password :'owner_password';
create role :"service" login nosuperuser nobypassrls password :'service_password';
create role :"worker" login noinherit nosuperuser nobypassrls password :'worker_password';
grant :"service" to :"worker";
create schema :"schema" authorization :"owner";
grant usage on schema :"schema" to :"service", :"worker";
SQL
done
psql -v ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" -c 'revoke create on schema public from public'
