//! Making an object of a class from values of its fields, without calling the class.
//!
//! As `pickle` and `copy` do it: `__init__` and `__post_init__` have run when the record was made
//! that was written. So a record is read in the time of a few fields.

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

/// A class whose objects are records.
pub(crate) struct RecordClass {
    class: Py<PyType>,
    allocate: ffi::allocfunc,
    /// Of each field, where all have one.
    slots: Option<Vec<Slot>>,
}

/// A field's place in the objects of a class with `__slots__`.
struct Slot {
    member: Py<PyAny>,
    set: ffi::descrsetfunc,
}

impl RecordClass {
    /// The class, which has these fields.
    ///
    /// # Errors
    /// `TypeError` for one whose objects cannot be made so.
    pub(crate) fn new(class: &Bound<'_, PyType>, fields: &[&str]) -> PyResult<Self> {
        let object = class.py().get_type::<PyAny>();
        if !class.getattr("__new__")?.is(&object.getattr("__new__")?) {
            let name = class.name()?.to_string();
            let text = format!("{name} cannot be a record: it has a __new__ of its own");
            return Err(PyTypeError::new_err(text));
        }
        // SAFETY: the class is alive, and every class has this function.
        let slot = unsafe { ffi::PyType_GetSlot(class.as_type_ptr(), ffi::Py_tp_alloc) };
        if slot.is_null() {
            return Err(PyTypeError::new_err("objects of the class cannot be made"));
        }
        // SAFETY: what the slot of this number has is a function of this type.
        let allocate = unsafe { std::mem::transmute::<*mut _, ffi::allocfunc>(slot) };
        let slots = fields.iter().map(|field| Slot::of(class, field));
        let slots = slots.collect::<PyResult<Option<Vec<Slot>>>>()?;
        Ok(Self { class: class.clone().unbind(), allocate, slots })
    }

    /// The class.
    pub(crate) fn class<'py>(&self, py: Python<'py>) -> &Bound<'py, PyType> {
        self.class.bind(py)
    }

    /// An object without values.
    pub(crate) fn empty<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        // SAFETY: what `object.__new__` does for a class that has none of its own: the function is
        // the class's, which is alive, and gives a new reference or none with an exception set.
        unsafe {
            let made = (self.allocate)(self.class.bind(py).as_type_ptr(), 0);
            Bound::from_owned_ptr_or_err(py, made)
        }
    }
}

impl RecordClass {
    /// Whether all fields have slots.
    pub(crate) fn has_slots(&self) -> bool {
        self.slots.is_some()
    }

    /// Fills the slot of a field, in an object of the class.
    pub(crate) fn fill(
        &self,
        object: &Bound<'_, PyAny>,
        field: usize,
        value: &Py<PyAny>,
    ) -> PyResult<()> {
        let Some(slot) = self.slots.as_ref().and_then(|slots| slots.get(field)) else {
            return Err(PyTypeError::new_err("the class has no such slot"));
        };
        // SAFETY: three objects that are alive; the function is that of the member's class.
        let failed = unsafe { (slot.set)(slot.member.as_ptr(), object.as_ptr(), value.as_ptr()) };
        match failed {
            0 => Ok(()),
            _ => Err(PyErr::fetch(object.py())),
        }
    }
}

impl Slot {
    /// The slot of a field, if it has one.
    fn of(class: &Bound<'_, PyType>, field: &str) -> PyResult<Option<Self>> {
        let py = class.py();
        let of_slots =
            py.import("types")?.getattr("MemberDescriptorType")?.cast_into::<PyType>()?;
        // Of a field without one, the class may have a default or nothing.
        let Ok(member) = class.getattr(field) else { return Ok(None) };
        if !member.get_type().is(&of_slots) {
            return Ok(None);
        }
        // SAFETY: the class of members is alive, and all of its objects can be set.
        let set = unsafe { ffi::PyType_GetSlot(of_slots.as_type_ptr(), ffi::Py_tp_descr_set) };
        if set.is_null() {
            return Ok(None);
        }
        // SAFETY: what the slot of this number has is a function of this type.
        let set = unsafe { std::mem::transmute::<*mut _, ffi::descrsetfunc>(set) };
        Ok(Some(Self { member: member.unbind(), set }))
    }
}

/// Sets an attribute, also of an object that refuses to be changed: it is being made.
pub(crate) fn set(
    object: &Bound<'_, PyAny>,
    name: &Bound<'_, PyString>,
    value: &Bound<'_, PyAny>,
) -> PyResult<()> {
    // SAFETY: three objects that are alive; what `object.__setattr__` does.
    let failed =
        unsafe { ffi::PyObject_GenericSetAttr(object.as_ptr(), name.as_ptr(), value.as_ptr()) };
    match failed {
        0 => Ok(()),
        _ => Err(PyErr::fetch(object.py())),
    }
}
