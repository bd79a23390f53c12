//! Tables of PostgreSQL's catalog about what there is none of here: triggers, functions, policies
//! and the like.
//!
//! They are there, and always empty, so that clients that look are told so.

/// The columns of the table with this name, if it is one of them.
pub(crate) fn columns(name: &str) -> Option<&'static [(&'static str, char)]> {
    ABSENT.iter().find(|(table, _)| *table == name).map(|(_, columns)| *columns)
}

/// Each table with its columns, which have the letters of [`super::rows::Described`].
const ABSENT: &[(&str, &[(&str, char)])] = &[
    (
        "pg_inherits",
        &[("inhrelid", 'i'), ("inhparent", 'i'), ("inhseqno", 'i'), ("inhdetachpending", 'b')],
    ),
    ("pg_collation", &[("oid", 'i'), ("collname", 't'), ("collnamespace", 'i')]),
    (
        "pg_trigger",
        &[
            ("oid", 'i'),
            ("tgrelid", 'i'),
            ("tgname", 't'),
            ("tgisinternal", 'b'),
            ("tgenabled", 't'),
            ("tgparentid", 'i'),
            ("tgconstraint", 'i'),
            ("tgdeferrable", 'b'),
            ("tginitdeferred", 'b'),
        ],
    ),
    ("pg_proc", PROC),
    ("pg_auth_members", &[("roleid", 'i'), ("member", 'i'), ("admin_option", 'b')]),
    ("pg_language", &[("oid", 'i'), ("lanname", 't')]),
    (
        "pg_opclass",
        &[
            ("oid", 'i'),
            ("opcname", 't'),
            ("opcnamespace", 'i'),
            ("opcmethod", 'i'),
            ("opcdefault", 'b'),
        ],
    ),
    ("pg_enum", &[("oid", 'i'), ("enumtypid", 'i'), ("enumsortorder", 'd'), ("enumlabel", 't')]),
    ("pg_extension", &[("oid", 'i'), ("extname", 't'), ("extversion", 't')]),
    ("pg_range", &[("rngtypid", 'i'), ("rngsubtype", 'i')]),
    ("pg_tablespace", &[("oid", 'i'), ("spcname", 't')]),
    (
        "pg_depend",
        &[
            ("classid", 'i'),
            ("objid", 'i'),
            ("objsubid", 'i'),
            ("refclassid", 'i'),
            ("refobjid", 'i'),
            ("refobjsubid", 'i'),
            ("deptype", 't'),
        ],
    ),
    (
        "pg_policy",
        &[
            ("oid", 'i'),
            ("polname", 't'),
            ("polrelid", 'i'),
            ("polcmd", 't'),
            ("polpermissive", 'b'),
            ("polroles", 'l'),
            ("polqual", 't'),
            ("polwithcheck", 't'),
        ],
    ),
    (
        "pg_statistic_ext",
        &[
            ("oid", 'i'),
            ("stxrelid", 'i'),
            ("stxname", 't'),
            ("stxnamespace", 'i'),
            ("stxowner", 'i'),
            ("stxstattarget", 'i'),
            ("stxkeys", 'l'),
            ("stxkind", 's'),
        ],
    ),
    ("pg_publication", &[("oid", 'i'), ("pubname", 't'), ("puballtables", 'b')]),
    ("pg_publication_namespace", &[("oid", 'i'), ("pnpubid", 'i'), ("pnnspid", 'i')]),
    (
        "pg_publication_rel",
        &[("oid", 'i'), ("prpubid", 'i'), ("prrelid", 'i'), ("prqual", 't'), ("prattrs", 'l')],
    ),
    (
        "pg_rewrite",
        &[
            ("oid", 'i'),
            ("rulename", 't'),
            ("ev_class", 'i'),
            ("ev_type", 't'),
            ("ev_enabled", 't'),
        ],
    ),
    ("pg_foreign_server", &[("oid", 'i'), ("srvname", 't')]),
    ("pg_foreign_table", &[("ftrelid", 'i'), ("ftserver", 'i')]),
    ("pg_partitioned_table", &[("partrelid", 'i'), ("partstrat", 't')]),
];

/// The columns of `pg_proc`.
const PROC: &[(&str, char)] = &[
    ("oid", 'i'),
    ("proname", 't'),
    ("pronamespace", 'i'),
    ("proowner", 'i'),
    ("prolang", 'i'),
    ("provariadic", 'i'),
    ("prokind", 't'),
    ("prosecdef", 'b'),
    ("proleakproof", 'b'),
    ("proisstrict", 'b'),
    ("proretset", 'b'),
    ("provolatile", 't'),
    ("proparallel", 't'),
    ("pronargs", 'i'),
    ("pronargdefaults", 'i'),
    ("prorettype", 'i'),
    ("proargtypes", 'l'),
    ("proallargtypes", 'l'),
    ("proargmodes", 's'),
    ("proargnames", 's'),
    ("prosrc", 't'),
    ("proacl", 's'),
];
