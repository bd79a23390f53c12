//! A query's joins as numbers: relations, classes of equal columns, predicates, and what each way
//! of joining two sets of relations would cost. It knows no plan and no expression.
//!
//! What always holds: the rows of a set depend on the set alone and not on how it was joined, so
//! that plans for one set are compared by their cost only. A relation that only filters (the other
//! side of a semi or anti join) is joined alone, to a set in which its predicate can be computed:
//! the simplest case of the conflict rules of Moerkotte, Fender and Eich (On the correct and
//! complete enumeration of the core search space, SIGMOD 2013).

/// A set of relations, one bit for each.
pub(super) type Set = u64;

/// Relations in one graph, at most.
pub(super) const RELATIONS_MAX: usize = 60;

/// Joins of one query, without their meaning.
#[derive(Debug, Clone, Default)]
pub(super) struct Graph {
    pub(super) relations: Vec<Relation>,
    pub(super) classes: Vec<Class>,
    pub(super) predicates: Vec<Predicate>,
}

/// What is joined: a table, or whatever else gives rows.
#[derive(Debug, Clone)]
pub(super) struct Relation {
    /// Rows after the predicates on this relation alone.
    pub(super) rows: f64,
    /// Rows before them. No combination of its columns has more values than this.
    pub(super) rows_before: f64,
    /// None if its columns take part in the result.
    pub(super) filtering: Option<Filtering>,
}

/// How a relation filters others and then vanishes, as a semi or anti join does.
#[derive(Debug, Clone)]
pub(super) struct Filtering {
    /// It can be applied to a set that has one relation of each of these.
    pub(super) needs: Vec<Set>,
    /// The share of rows that stay.
    pub(super) keeps: f64,
    /// There is an equality to hash.
    pub(super) keyed: bool,
    /// The hash table has to be made of what is filtered.
    pub(super) builds_kept: bool,
}

/// Columns that are equal in the result, whichever of them the query has compared.
#[derive(Debug, Clone)]
pub(super) struct Class {
    pub(super) members: Vec<Member>,
}

/// One column of a class.
#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) relation: usize,
    /// Different values, if only predicates on this column are considered.
    pub(super) distinct: f64,
}

/// A predicate over several relations that is not an equality of two columns.
#[derive(Debug, Clone)]
pub(super) struct Predicate {
    pub(super) relations: Set,
    /// The two sides, if it is an equality that can be hashed.
    pub(super) sides: Option<(Set, Set)>,
    pub(super) selectivity: f64,
}

/// How two sets are joined.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Method {
    /// By a hash table of one side.
    Hash,
    /// Each row with each, and a predicate or none.
    Loop,
}

/// Costs in nanoseconds or so, of one row. They are ratios more than times: a row costs more than
/// twice as much to put into a hash table as to look up, since the table is allocated and touched.
const BUILD: f64 = 30.0;
const PROBE: f64 = 12.0;
const OUTPUT: f64 = 10.0;
const COMPARE: f64 = 2.0;
/// Each factor of ten by which a hash table outgrows a cache makes looking up this much dearer.
const CACHED_ROWS: f64 = 20_000.0;
const MISS: f64 = 6.0;

/// The cost of a join, without its inputs'.
pub(super) fn join_cost(method: Method, build: f64, probe: f64, output: f64) -> f64 {
    let work = match method {
        Method::Hash => {
            let misses = MISS * (build / CACHED_ROWS).max(1.0).log10();
            build * (BUILD + misses) + probe * (PROBE + misses)
        }
        Method::Loop => build * OUTPUT + build * probe * COMPARE,
    };
    work + output * OUTPUT
}

impl Graph {
    /// The set of all relations.
    pub(super) fn all(&self) -> Set {
        (1 << self.relations.len()) - 1
    }

    /// The relations whose columns take part in the result.
    pub(super) fn joined(&self) -> Set {
        let joined = |(_, relation): &(usize, &Relation)| relation.filtering.is_none();
        self.relations.iter().enumerate().filter(joined).fold(0, |set, (at, _)| set | 1 << at)
    }

    /// For each relation those that something connects with it. A predicate over three relations
    /// connects each with each: too much, so that joins have to be checked by [`Graph::method`].
    pub(super) fn neighbours(&self) -> Vec<Set> {
        let mut neighbours = vec![0; self.relations.len()];
        let mut connect = |set: Set| {
            for at in ones(set) {
                neighbours[at] |= set & !(1 << at);
            }
        };
        for class in &self.classes {
            connect(class.members.iter().fold(0, |set, member| set | 1 << member.relation));
        }
        for predicate in &self.predicates {
            connect(predicate.relations);
        }
        for (at, relation) in self.relations.iter().enumerate() {
            let Some(filtering) = &relation.filtering else { continue };
            let near = filtering.needs.iter().fold(0, |set, need| set | need);
            for other in ones(if near == 0 { self.joined() } else { near }) {
                neighbours[at] |= 1 << other;
                neighbours[other] |= 1 << at;
            }
        }
        neighbours
    }

    /// How two sets can be joined; `None` if nothing connects them or the filter among them
    /// cannot be applied yet.
    pub(super) fn method(&self, left: Set, right: Set) -> Option<Method> {
        match (self.filter_alone(left), self.filter_alone(right)) {
            (Some(_), Some(_)) => None,
            (Some(filtering), None) => self.filter_method(filtering, right),
            (None, Some(filtering)) => self.filter_method(filtering, left),
            (None, None) => self.join_method(left, right),
        }
    }

    fn filter_method(&self, filtering: &Filtering, kept: Set) -> Option<Method> {
        let applicable =
            kept & self.joined() != 0 && filtering.needs.iter().all(|need| need & kept != 0);
        applicable.then_some(if filtering.keyed { Method::Hash } else { Method::Loop })
    }

    fn join_method(&self, left: Set, right: Set) -> Option<Method> {
        let has = |class: &Class, set: Set| {
            class.members.iter().any(|member| set & 1 << member.relation != 0)
        };
        if self.classes.iter().any(|class| has(class, left) && has(class, right)) {
            return Some(Method::Hash);
        }
        let mut found = None;
        for predicate in self.predicates.iter().filter(|p| p.becomes_whole(left, right)) {
            if predicate.splits(left, right) {
                return Some(Method::Hash);
            }
            found = Some(Method::Loop);
        }
        found
    }

    /// The filter that a set consists of.
    pub(super) fn filter_alone(&self, set: Set) -> Option<&Filtering> {
        let alone = set.count_ones() == 1;
        alone.then(|| self.relations[set.trailing_zeros() as usize].filtering.as_ref()).flatten()
    }

    /// Whether `build` may be the side that a hash table is made of.
    pub(super) fn may_build(&self, build: Set) -> bool {
        self.filter_alone(build).is_none_or(|filtering| !filtering.builds_kept)
    }

    /// Rows of a set once all in it is joined: relations are added in a fixed order, each with
    /// what it shares with those before it.
    pub(super) fn rows(&self, set: Set) -> f64 {
        let joined = set & self.joined();
        let (mut done, mut left, mut rows) = (0, joined, 1.0);
        while left != 0 {
            let shares = |at: &usize| self.shares_class(done, *at);
            let next = ones(left).find(shares).unwrap_or(left.trailing_zeros() as usize);
            rows *= self.relations[next].rows * self.selectivity(done, next);
            done |= 1 << next;
            left &= !(1 << next);
        }
        for predicate in self.predicates.iter().filter(|p| p.relations & !joined == 0) {
            rows *= predicate.selectivity;
        }
        for at in ones(set & !joined) {
            rows *= self.relations[at].filtering.as_ref().map_or(1.0, |filtering| filtering.keeps);
        }
        rows.max(1.0)
    }

    fn shares_class(&self, done: Set, next: usize) -> bool {
        self.classes.iter().any(|class| {
            class.members.iter().any(|member| member.relation == next)
                && class.members.iter().any(|member| done & 1 << member.relation != 0)
        })
    }

    /// The share of all pairs that stays when `next` joins `done`.
    ///
    /// One class: a value of the side with fewer meets one of the other side. Several classes
    /// with one and the same relation are a composite key, whose values are at most its rows.
    fn selectivity(&self, done: Set, next: usize) -> f64 {
        let mut open: Vec<usize> = (0..self.classes.len())
            .filter(|&at| self.classes[at].distinct(next).is_some())
            .filter(|&at| ones(done).any(|other| self.classes[at].distinct(other).is_some()))
            .collect();
        let mut selectivity = 1.0;
        while !open.is_empty() {
            let shared = |other: usize| {
                open.iter().filter(|&&at| self.classes[at].distinct(other).is_some()).count()
            };
            let Some(other) = ones(done).max_by_key(|&other| (shared(other), usize::MAX - other))
            else {
                break;
            };
            let (with, rest): (Vec<usize>, Vec<usize>) =
                open.iter().partition(|&&at| self.classes[at].distinct(other).is_some());
            selectivity *= self.key_selectivity(&with, done, other, next);
            open = rest;
        }
        selectivity
    }

    fn key_selectivity(&self, classes: &[usize], done: Set, other: usize, next: usize) -> f64 {
        if let [one] = classes {
            let class = &self.classes[*one];
            let before = ones(done).filter_map(|at| class.distinct(at)).fold(f64::MAX, f64::min);
            return 1.0 / before.max(class.distinct(next).unwrap_or(1.0)).max(1.0);
        }
        let values = |relation: usize| {
            let all: f64 =
                classes.iter().filter_map(|&at| self.classes[at].distinct(relation)).product();
            let most = self.relations[relation].rows_before;
            (all.min(most).max(1.0), all >= most)
        };
        let ((before, before_key), (after, after_key)) = (values(other), values(next));
        // Where both could be keys, the smaller one is: the larger refers to it.
        1.0 / if before_key && after_key { before.min(after) } else { before.max(after) }
    }
}

impl Class {
    fn distinct(&self, relation: usize) -> Option<f64> {
        let of = self.members.iter().filter(|member| member.relation == relation);
        of.map(|member| member.distinct.max(1.0)).reduce(f64::min)
    }
}

impl Predicate {
    /// Whether it can be computed for the first time where these two are joined.
    pub(super) fn becomes_whole(&self, left: Set, right: Set) -> bool {
        self.relations & !(left | right) == 0
            && self.relations & !left != 0
            && self.relations & !right != 0
    }

    /// Whether each of its two sides can be computed on one side of the join.
    pub(super) fn splits(&self, left: Set, right: Set) -> bool {
        self.sides.is_some_and(|(a, b)| {
            (a & !left == 0 && b & !right == 0) || (a & !right == 0 && b & !left == 0)
        })
    }
}

/// The relations of a set, lowest first.
pub(super) fn ones(set: Set) -> impl Iterator<Item = usize> {
    let mut left = set;
    std::iter::from_fn(move || {
        let at = (left != 0).then(|| left.trailing_zeros() as usize)?;
        left &= left - 1;
        Some(at)
    })
}
