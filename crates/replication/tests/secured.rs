//! Replicas between machines: both sides show certificates, and nobody else is let in.

mod groups;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use groups::{Group, LONG, insert, numbers, options, schema};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
};
use remanent_engine::Durability;
use remanent_replication::{Certificates, GroupOptions, Node};

/// An authority that signs certificates of replicas.
struct Authority(CertifiedIssuer<'static, KeyPair>);

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("an authority"))
    }

    /// Certificates of a replica at this host, which trusts those of `other`.
    fn certificates(&self, host: &str, other: &Self) -> Certificates {
        let mut params = CertificateParams::new(vec![host.to_owned()]).expect("parameters");
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        let key = KeyPair::generate().expect("a key");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Certificates::from_pem(
            certificate.pem().as_bytes(),
            key.serialize_pem().as_bytes(),
            other.0.pem().as_bytes(),
        )
        .expect("certificates")
    }
}

/// A group of two with certificates.
fn secured(authority: &Authority) -> Group {
    let mut group = Group::closed(2);
    for place in 0..2 {
        let certificates = authority.certificates("127.0.0.1", authority);
        let group_options = group.group_options(place);
        let node = Node::start(group.folder(place), options, group_options, Some(certificates));
        group.nodes[place] = Some(node.expect("a node"));
    }
    group
}

#[test]
fn a_group_talks_over_tls() {
    let authority = Authority::new();
    let group = secured(&authority);
    let leader = group.leader();
    let db = group.database(leader);
    let table = db.create_table(schema()).expect("a table");
    for number in 0..20 {
        insert(&db, &table, number, Durability::Replicated).expect("to be replicated");
    }
    group.wait_until_equal();
    assert_eq!(numbers(&group.database(1 - leader)).len(), 20);

    // Who has another authority's certificate, or none, is not let in. Whose certificate is for
    // another host gets a copy, since it is of the group; but nobody finds it, so it gets no vote.
    let stranger = Authority::new();
    let strange = Some(stranger.certificates("127.0.0.1", &authority));
    let elsewhere = Some(authority.certificates("example.org", &authority));
    let joining = [(12, strange, "alert"), (13, None, "end of file"), (14, elsewhere, "")];
    for (place, certificates, why) in joining {
        let joining = GroupOptions::new(place, format!("127.0.0.1:{}", groups::free_port()));
        let joining = joining.join(group.address(leader));
        let is_of_the_group = place == 14;
        let folder = group.folder(place as usize);
        let node = Node::start(folder, options, joining, certificates).expect("a node");
        let begin = Instant::now();
        let is_decided = || match is_of_the_group {
            true => group.node(leader).status().members.len() == 3,
            false => node.failure().is_some_and(|failure| failure.contains(why)),
        };
        while !is_decided() && begin.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(10));
        }
        assert!(is_decided(), "{place}: {:?} {:#?}", node.failure(), group.statuses());
        assert_eq!(node.database().is_some(), is_of_the_group);
        assert_eq!(group.node(leader).status().members.iter().filter(|it| it.votes).count(), 2);
    }
    insert(&db, &table, 100, Durability::Replicated).expect("to be replicated");
}

#[test]
fn what_makes_no_sense_is_refused_and_does_no_harm() {
    let group = Group::start(3);
    let leader = group.leader();
    let db = group.database(leader);
    let table = db.create_table(schema()).expect("a table");
    let attack = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(group.address(leader)).expect("to connect");
        stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a timeout");
        let _ = stream.write_all(bytes);
        let mut answer = [0; 64];
        let _ = stream.read(&mut answer);
    };
    let mut seed = 7_u64;
    for round in 0..200_usize {
        let mut bytes: Vec<u8> = Vec::new();
        for _ in 0..round {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            bytes.push((seed >> 56) as u8);
        }
        // Now and then with a length that fits, or one that announces what never comes.
        match round % 4 {
            0 => bytes.splice(0..0, (bytes.len() as u32).to_le_bytes()).for_each(drop),
            1 => bytes.splice(0..0, u32::MAX.to_le_bytes()).for_each(drop),
            2 => bytes.splice(0..0, (60_u32 << 20).to_le_bytes()).for_each(drop),
            _ => {}
        }
        attack(&bytes);
    }
    insert(&db, &table, 1, Durability::Replicated).expect("to be replicated");
    drop(table);
    group.wait_until_equal();
    assert_eq!(group.leader(), leader);
}

#[test]
fn a_replica_of_another_group_or_name_is_not_let_in() {
    let group = Group::start(1);
    let leader = group.leader();
    let address = || format!("127.0.0.1:{}", groups::free_port());
    let join = |options: GroupOptions, place| {
        let options = options.join(group.address(leader));
        let node = Node::start(group.folder(place), options_of_database, options, None);
        node.expect("a node")
    };
    let named = join(GroupOptions::new(2, address()).name("another"), 2);
    // Its number is taken by a replica with another folder.
    let numbered = join(GroupOptions::new(1, address()), 3);
    // There is a database in its folder.
    drop(remanent_engine::Database::open_at(group.folder(4), options()).expect("a database"));
    let filled = join(GroupOptions::new(3, address()), 4);
    for (node, why) in
        [(&named, "not `another`"), (&numbered, "member 1"), (&filled, "empty folder")]
    {
        let begin = Instant::now();
        let says_why = || node.failure().is_some_and(|failure| failure.contains(why));
        while !says_why() && begin.elapsed() < LONG {
            std::thread::sleep(Duration::from_millis(5));
        }
        assert!(says_why(), "{:?} does not say {why:?}", node.failure());
        assert!(node.database().is_none());
    }
    assert_eq!(group.node(leader).status().members.len(), 1);
}

fn options_of_database() -> remanent_engine::Options {
    options()
}

#[test]
fn without_certificates_no_other_machine_is_talked_to() {
    let home = tempfile::tempdir().expect("a folder");
    let group = GroupOptions::new(1, format!("0.0.0.0:{}", groups::free_port()));
    let node = Node::start(home.path().join("1"), options, group, None).expect("a node");
    let begin = Instant::now();
    let says_why = || node.failure().is_some_and(|failure| failure.contains("certificates"));
    while !says_why() && begin.elapsed() < LONG {
        std::thread::sleep(Duration::from_millis(5));
    }
    assert!(says_why(), "{:?}", node.failure());
}
