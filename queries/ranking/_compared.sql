-- How groups are compared with one another or with a reference.

-- Is the group `other` in the reference of the group `own`? NULL without a reference.
CREATE OR REPLACE TEMP MACRO in_reference(other, own) AS
    CASE getvariable('ref_kind')
        WHEN 'value' THEN other = getvariable('ref') AND other <> own
        WHEN 'overall' THEN other IS NOT NULL
        WHEN 'rest' THEN other <> own
    END;

-- Over rows of one per group, each with the group's value and the reference's: the largest minus
-- the smallest value, or with a reference the difference from it that is largest in size.
CREATE OR REPLACE TEMP MACRO compared_by_difference(own, reference) AS
    CASE WHEN count(own) < 2 THEN NULL
         WHEN getvariable('ref_kind') IS NULL THEN max(own) - min(own)
         ELSE first(own - reference ORDER BY round(abs(own - reference), 12) DESC, own - reference)
              FILTER (own - reference IS NOT NULL)
    END;

-- The same with quotients: the smallest over the largest value, or the quotient with the reference
-- whose logarithm is largest in size.
CREATE OR REPLACE TEMP MACRO compared_by_ratio(own, reference) AS
    CASE WHEN count(own) < 2 THEN NULL
         WHEN getvariable('ref_kind') IS NULL THEN min(own) / nullif(max(own), 0)
         ELSE first(own / reference ORDER BY round(abs(ln(own / reference)), 12) DESC, own / reference)
              FILTER (own + reference > 0)
    END;
